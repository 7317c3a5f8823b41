import { everyDelimiter, type Delimiter } from '../delimiter';
import type { TableRecord } from '../read/first-records';
import { trimText } from '../text';
import { isNumber, shareOf } from './column-cells';
import { meaningOf } from './header-meaning';

/** Splits the beginning of a text into records that are not blank. */
type SplitRecords = (delimiter: Delimiter) => TableRecord[];

/** Delimiter and header of a text. */
export interface Table {
  delimiter: Delimiter;
  /** Lines before the header row, without the line `sep=`; 0 if these are blank. */
  skipLines: number;
  /** Undefined: the file has no header row. */
  names: readonly string[] | undefined;
  /** Number of fields of a row. */
  width: number;
  /** Records before the header row. */
  recordsBefore: number;
  confidence: number;
}

/** Number of first records that may be the header. */
const headerRecordsMax = 30;

const sampleRecords = 200;

const matchedMin = 0.6;

/** Number of names that make a record a header row, if it has few others. */
const surelyMin = 3;

/**
 * Finds delimiter and header row: its cells are names of columns, and the following records have as many fields.
 * @param stated - the character of a line `sep=`; ignored if it is no delimiter of a format
 */
export function detectTable(split: SplitRecords, stated?: string): Table | undefined {
  const meant = everyDelimiter.filter((delimiter) => delimiter === stated);
  const candidates = (meant.length > 0 ? meant : everyDelimiter)
    .map((delimiter) => bestOf(split(delimiter), delimiter))
    .filter((found) => found !== undefined)
    .sort((a, b) => b.score - a.score);
  const [best, second] = candidates;
  if (!best) return undefined;
  const { score, evenness, matches, ...table } = best;
  const margin = score - (second?.score ?? 0);
  const isSure = meant.length > 0 || (margin > 0.5 && (evenness > 0.9 || matches >= 3));
  return { ...table, confidence: isSure ? 0.95 : margin > 0.2 ? 0.75 : 0.5 };
}

type Candidate = Omit<Table, 'confidence'> & { score: number; evenness: number; matches: number };

function bestOf(records: readonly TableRecord[], delimiter: Delimiter): Candidate | undefined {
  const found = findHeaderRecord(records);
  if (!found) return undefined;
  const { at, matches } = found;
  const header = records[at]!;
  const rows = records.slice(at + 1, at + 1 + sampleRecords).map(({ fields }) => fields);
  const count = header.fields.length;
  const even = rows.filter((row) => row.length === count || (row.length === count + 1 && row.at(-1) === ''));
  const evenness = rows.length === 0 ? 0.5 : even.length / rows.length;
  const isOnlyBlank = header.linesBefore === 0 || at === 0;
  const isData = matches < 2 && count > 1 && isDataRow(header.fields, rows);
  return {
    delimiter,
    skipLines: isOnlyBlank ? 0 : header.linesBefore,
    names: isData ? undefined : header.fields.map(trimText),
    width: isData ? Math.max(count, mostFrequent(rows.map((row) => row.length))) : count,
    recordsBefore: at,
    evenness,
    matches,
    score: (count < 2 ? 0 : evenness * Math.min(2, Math.log2(count))) + matches,
  };
}

/** Finds the header: the record with the most column names, or else the first one as wide as the following records. */
export function findHeaderRecord(
  records: readonly Pick<TableRecord, 'fields'>[],
): { at: number; matches: number } | undefined {
  const first = records.slice(0, headerRecordsMax);
  const matches: number[] = [];
  for (const { fields } of first) {
    matches.push(matchesIn(fields));
    // No later row is a better header.
    if (matches.at(-1)! >= Math.max(surelyMin, fields.length / 2)) break;
  }
  const most = Math.max(0, ...matches);
  if (most >= 2) return { at: matches.indexOf(most), matches: most };
  const widths = first.map(({ fields }) => fields.length);
  const common = mostFrequent(records.map(({ fields }) => fields.length));
  const wide = widths.indexOf(common);
  const isNamed =
    wide !== -1 && first[wide]!.fields.filter((field) => trimText(field) !== '').length > common / 2;
  if (records.length === 0) return undefined;
  const at = isNamed ? wide : 0;
  return { at, matches: matches[at] ?? 0 };
}

/** Tells a record of data from a header row: it has numbers where the other records have numbers. */
function isDataRow(fields: readonly string[], rows: readonly (readonly string[])[]): boolean {
  if (rows.length === 0) return false;
  const numbers = fields.flatMap((field, position) => {
    const cells = rows.map((row) => trimText(row[position] ?? ''));
    return shareOf(cells, isNumber) >= agreeingMin ? [isNumber(trimText(field))] : [];
  });
  return numbers.length > 0 && numbers.filter(Boolean).length >= numbers.length / 2;
}

const agreeingMin = 0.9;

/** Counts the columns that the cells name; none if many of them are numbers, as in a row of data. */
function matchesIn(fields: readonly string[]): number {
  const texts = fields
    .slice(0, columnsMax)
    .map(trimText)
    .filter((field) => field !== '');
  if (texts.length < 2 || texts.filter(isNumber).length > numbersMax * texts.length) return 0;
  const columns = new Set<string>();
  for (const field of texts) {
    if (/^https?:/i.test(field)) return 0;
    if (
      field.length > nameCharactersMax ||
      otherDelimiters.test(field) ||
      field.split(' ', wordsMax + 1).length > wordsMax
    )
      continue;
    const meaning = meaningOf(field);
    if (meaning && meaning.field !== 'other' && meaning.strength >= matchedMin) columns.add(meaning.field);
  }
  return columns.size;
}

const columnsMax = 500;
/** Maximum share of numbers among the names of columns. */
const numbersMax = 0.2;
/** Longer cells are data. */
const nameCharactersMax = 60;
const wordsMax = 6;
/** Cells of a text that is split at the wrong delimiter. */
const otherDelimiters = /[;\t|]/;

function mostFrequent(numbers: readonly number[]): number {
  const counts = new Map<number, number>();
  for (const number of numbers) counts.set(number, (counts.get(number) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || b[0] - a[0])[0]?.[0] ?? 0;
}
