import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { firstRecords } from '../src/etl/format-header';
import { detectFormat, type FormatDetection } from '../src/feed-format/detect-format';
import type { ColumnSource } from '../src/feed-format/format-definition';
import { decodeBeginning } from '../src/feed-format/detect-encoding';
import type { Encoding } from '../src/feed-format/decode-text';
import { generatedFiles } from './generate-dialects';

/*
 * Measures how often the detection of an inspection is right first time.
 *
 * Usage: tsx scripts/measure-detection.ts [--misses] [FOLDER...]
 * Each folder has files and a truth.json with `{files: [{file, encoding, delimiter, skip_lines, decimal_separator, columns}]}`.
 */

export interface Truth {
  file: string;
  encoding: string;
  delimiter: string;
  skip_lines: number;
  decimal_separator: string | null;
  /** Our column, and the header; several headers are joined, the first one counts. */
  columns: Record<string, string | { join: string[] } | null>;
}

interface Labeled {
  truth: Truth;
  bytes: Buffer;
}

const inspectedBytes = 256 * 1024;

interface Answer {
  property: string;
  isRight: boolean;
  confidence: number;
  what: string;
}

function answersOf({ truth, bytes }: Labeled): Answer[] {
  const found = detectFormat(bytes.subarray(0, inspectedBytes), firstRecords);
  const answer = (
    property: string,
    isRight: boolean,
    confidence: number,
    given: unknown,
    wanted: unknown,
  ): Answer => ({
    property,
    isRight,
    confidence,
    what: `${truth.file}: ${property} ${JSON.stringify(given)} instead of ${JSON.stringify(wanted)}`,
  });
  const { encoding, delimiter, decimalSeparator, skipLines } = found;
  return [
    answer(
      'encoding',
      isSameText(bytes, encoding.value, truth.encoding),
      encoding.confidence,
      encoding.value,
      truth.encoding,
    ),
    answer(
      'delimiter',
      delimiter.value === truth.delimiter,
      delimiter.confidence,
      delimiter.value,
      truth.delimiter,
    ),
    answer('skip_lines', skipLines === truth.skip_lines, delimiter.confidence, skipLines, truth.skip_lines),
    ...(truth.decimal_separator
      ? [
          answer(
            'decimal_separator',
            decimalSeparator.value === truth.decimal_separator,
            decimalSeparator.confidence,
            decimalSeparator.value,
            truth.decimal_separator,
          ),
        ]
      : []),
    ...Object.entries(truth.columns).map(([column, source]) => {
      const wanted = source === null || typeof source === 'string' ? source : source.join[0]!;
      const match = found.headers.find((header) => header.column === column);
      const given = headerOf(found, column) ?? match?.header ?? null;
      return answer(
        'header',
        given?.trim() === (wanted?.trim() ?? undefined),
        match?.confidence ?? 0,
        given,
        wanted,
      );
    }),
  ];
}

/** The header that the suggested format reads. */
function headerOf({ definition, headers }: FormatDetection, column: string): string | undefined {
  const source = (definition?.columns as Record<string, ColumnSource> | undefined)?.[column];
  const names = source?.from ?? source?.join ?? [];
  return headers.find(({ header }) => names.some((name) => name.toLowerCase() === header.toLowerCase()))
    ?.header;
}

/** Encodings that give the same text are equally right. */
function isSameText(bytes: Buffer, given: Encoding | null, wanted: string): boolean {
  if (given === null || given === wanted) return given === wanted;
  const text = decodeBeginning(bytes, given);
  return text !== undefined && decodeBeginning(bytes, wanted as Encoding)?.equals(text) === true;
}

function filesIn(folder: string): Labeled[] {
  const { files } = JSON.parse(readFileSync(join(folder, 'truth.json'), 'utf8')) as { files: Truth[] };
  return files.map((truth) => ({ truth, bytes: readFileSync(join(folder, truth.file)) }));
}

const percent = (part: number, all: number) =>
  all === 0 ? '–' : `${((100 * part) / all).toFixed(1)} % of ${all}`;
const sureMin = 0.9;

function report(sets: Record<string, Answer[]>): string {
  const properties = [
    ...new Set(Object.values(sets).flatMap((answers) => answers.map(({ property }) => property))),
  ];
  const columns = Object.keys(sets);
  const cell = (answers: Answer[]) => {
    const sure = answers.filter(({ confidence }) => confidence >= sureMin);
    const right = percent(answers.filter(({ isRight }) => isRight).length, answers.length);
    return [right, percent(sure.filter(({ isRight }) => !isRight).length, sure.length)];
  };
  const row = (name: string, of: (answers: Answer[]) => Answer[]) =>
    `| ${[name, ...columns.flatMap((set) => cell(of(sets[set]!)))].join(' | ')} |`;
  return [
    `| Property | ${columns.map((set) => `${set}: right first time | ${set}: wrong with confidence of 0.9 or more`).join(' | ')} |`,
    `|---|${columns.map(() => '---:|---:|').join('')}`,
    ...properties.map((name) => row(name, (answers) => answers.filter(({ property }) => property === name))),
    row('all', (answers) => answers),
    '',
  ].join('\n');
}

const folders = process.argv.slice(2).filter((each) => !each.startsWith('--'));
const generated = generatedFiles(400, 1).flatMap(answersOf);
const real = folders.flatMap((folder) => filesIn(resolve(folder))).flatMap(answersOf);
process.stdout.write(report({ Generated: generated, ...(folders.length > 0 && { Real: real }) }));
if (process.argv.includes('--misses')) {
  for (const { isRight, confidence, what } of [...real, ...generated]) {
    if (!isRight) process.stdout.write(`${confidence} ${what}\n`);
  }
}
