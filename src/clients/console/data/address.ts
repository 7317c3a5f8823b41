import { useSearchParams, type BaseLocationHook, type Parser } from 'wouter';
import { useBrowserLocation, useSearch as useBrowserSearch } from 'wouter/use-browser-location';
import type { SheetOptions } from '../../workbook/sheet-table';
import { consolePath } from '../api';
import { addressOf } from '../routes';
import type { SourcePath } from './sources';

export const addressOfSource = (
  { partner_name: partner, source_name: source }: SourcePath,
  view?: 'edit' | 'test',
  query: Record<string, string | undefined> = {},
) => addressOf('source', { ...query, partner, source, view });

/** Returns the address of a sheet of the chosen workbook, and of how it is read. */
export const addressOfSheet = ({ sheet, headerRow, withHidden = true, withCurrency = true }: SheetOptions) =>
  addressOf('workbook', {
    sheet,
    header: headerRow,
    hidden: withHidden ? '' : 'no',
    currency: withCurrency ? '' : 'no',
  });

/** The inverse of `addressOfSheet`; null without a sheet. @param read - as `useFilters` */
export function sheetAt(read: (name: string) => string): SheetOptions | null {
  const headerRow = Number(read('header')) || undefined;
  if (!read('sheet')) return null;
  return {
    sheet: read('sheet'),
    headerRow,
    withHidden: read('hidden') !== 'no',
    withCurrency: read('currency') !== 'no',
  };
}

/** Decodes a segment; keeps malformed escape sequences, as people type addresses too. */
const decoded = (segment: string) =>
  segment.replace(/(?:%[0-9a-f]{2})+/gi, (sequence) => {
    try {
      return decodeURIComponent(sequence);
    } catch {
      return sequence;
    }
  });

/** Wraps the parser of a router to decode the segments that it finds. */
export const decodingParser =
  (parse: Parser): Parser =>
  (route, loose) => {
    const { pattern, keys } = parse(route, loose);
    return {
      keys,
      pattern: {
        exec(path) {
          const match = pattern.exec(path);
          return match && (match.map((segment?: string) => segment && decoded(segment)) as RegExpExecArray);
        },
      },
    };
  };

// The router decodes a whole address, and would confuse a slash in a name with one between names. A second escape preserves it.
const escaped = (text: string) => text.replaceAll('%', '%25');

/** The address of the browser, which stays encoded until it is split. */
export const useEncodedLocation: BaseLocationHook = () => {
  const [path, navigate] = useBrowserLocation();
  return [consolePath + escaped(path.slice(consolePath.length)), navigate];
};
useEncodedLocation.searchHook = () => escaped(useBrowserSearch());

/**
 * Reads and writes the filters of a view in its address.
 * @returns both; `isStep`: the way back leads to the address before
 */
export function useFilters(): [
  (name: string) => string,
  (changes: Record<string, string>, isStep?: boolean) => void,
] {
  const [search, setSearch] = useSearchParams();
  const read = (name: string) => search.get(name) ?? '';
  const write = (changes: Record<string, string>, isStep = false) =>
    setSearch(
      (before) => {
        const after = new URLSearchParams(before);
        for (const [name, value] of Object.entries(changes)) {
          if (value === '') after.delete(name);
          else after.set(name, value);
        }
        return after;
      },
      { replace: !isStep },
    );
  return [read, write];
}
