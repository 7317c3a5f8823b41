import { useQuery } from '@tanstack/react-query';
import { parse } from 'csv-parse/browser/esm/sync';
import { stringify } from 'csv-stringify/browser/esm/sync';
import { useState } from 'react';
import { isSuperseded } from '../../feed-format/report-columns';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { fetchFormats } from './formats';

/** The skipped rows of a run as a file: the header, and the rows with generated columns in front. */
export interface Rejects {
  delimiter: string;
  /** Lines before the header. */
  skipped: number;
  /** Has positions as names where the format has no header. */
  header: string[];
  rows: string[][];
  /** Number of generated columns in front: line, codes, messages. */
  generated: number;
}

export const useRejects = (feed: Schemas['Feed'], isEnabled: boolean) =>
  useQuery({
    queryKey: ['rejects', feed.validation_job_id],
    queryFn: async () => readRejects(await fetchRejects(feed), await definitionOf(feed)),
    enabled: isEnabled,
  });

export const fetchRejects = (feed: Schemas['Feed']) =>
  bodyOf(
    client.GET('/jobs/{job_id}/rejects.csv', {
      params: { path: { job_id: feed.validation_job_id } },
      parseAs: 'blob',
    }) as Promise<{ data?: Blob; error?: unknown; response: Response }>,
  );

async function definitionOf(feed: Schemas['Feed']): Promise<Partial<Schemas['FormatDefinition']>> {
  if (!feed.format_name) return {};
  const { partner_name, format_name } = feed;
  const formats = await fetchFormats(partner_name);
  return formats.find((format) => format.format_name === format_name)?.definition ?? {};
}

async function readRejects(file: Blob, definition: Partial<Schemas['FormatDefinition']>): Promise<Rejects> {
  const { delimiter = ',', skip_lines: skipped = 0, encoding } = definition;
  const text = new TextDecoder(encoding).decode(await file.arrayBuffer());
  const [header = [], ...rows] = parse(text, {
    bom: true,
    delimiter,
    from_line: skipped + 1,
    relax_column_count: true,
    skip_empty_lines: true,
  });
  return {
    delimiter,
    skipped,
    header,
    rows,
    generated: header.filter((name) => name.startsWith('_')).length,
  };
}

/** Changed cells, by row and column of the rejects: `3/5`. They survive a reload. */
export function useEdits(feedId: string): [Record<string, string>, (edits: Record<string, string>) => void] {
  const name = `mended-${feedId}`;
  const [edits, setEdits] = useState(
    () => JSON.parse(sessionStorage.getItem(name) ?? '{}') as Record<string, string>,
  );
  const keep = (changed: Record<string, string>) => {
    sessionStorage.setItem(name, JSON.stringify(changed));
    setEdits(changed);
  };
  return [edits, keep];
}

/**
 * Writes the rows with their changed cells as a file that loads with the format of the feed. A row that had lost against a later
 * one of its sku is skipped again, unless it was changed.
 */
export function mendedFile(feedId: string, rejects: Rejects, edits: Record<string, string>): File {
  const { delimiter, skipped, header, rows } = rejects;
  const codes = header.indexOf('_codes');
  const mended = rows.map((row, at) => {
    const cells = row.map((cell, column) => edits[`${at}/${column}`] ?? cell);
    const isChanged = cells.some((cell, column) => cell !== row[column]);
    return cells.map((cell, column) => (isChanged && column === codes && isSuperseded(cell) ? '' : cell));
  });
  const records = [header, ...mended];
  // A byte order mark precedes the encoding of a format.
  const text = `\u{feff}${'\n'.repeat(skipped)}${stringify(records, { delimiter })}`;
  return new File([text], `mended-${feedId}.csv`, { type: 'text/csv' });
}
