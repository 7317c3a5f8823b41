/**
 * Converts prices in a rejects.csv from other separators to the feed format. Never guesses and never empties a cell,
 * which would erase the stored value: a row with any other fault, or whose price is not written as declared, is
 * omitted and named on standard error. An example for partners; the result can be uploaded as it is.
 *
 * usage: mend-rejects [--decimal=comma|point] [--thousands=point|space|apostrophe] < rejects.csv > mended.csv
 */
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { parse } from 'csv-parse';
import { stringify } from 'csv-stringify';

const decimalSigns: Record<string, string> = { comma: ',', point: '\\.' };
/** As spreadsheets write them, including no-break spaces and the typographic apostrophe. */
const thousandsSigns: Record<string, string> = {
  point: '\\.',
  space: '[ \\u00a0\\u202f]',
  apostrophe: "['’]",
};

/** Unusable options or file. */
export class UsageError extends Error {}

/** The declared price syntax: integral digits and decimals are its groups. */
function declaredPrice(args: string[]): RegExp {
  const options = { decimal: { type: 'string' }, thousands: { type: 'string' } } as const;
  const { decimal, thousands } = parseArgs({ args, options }).values;
  if (decimal === undefined && thousands === undefined) {
    throw new UsageError('Missing option: --decimal=comma, --thousands=point|space|apostrophe, or both.');
  }
  const decimalSign = decimalSigns[decimal ?? 'point'];
  const thousandsSign = thousands === undefined ? undefined : thousandsSigns[thousands];
  if (!decimalSign) throw new UsageError('Wrong option: --decimal is comma or point.');
  if (thousands !== undefined && !thousandsSign) {
    throw new UsageError('Wrong option: --thousands is point, space or apostrophe.');
  }
  if (decimalSign === thousandsSign) {
    throw new UsageError('Wrong options: one sign cannot be both decimal and thousands.');
  }
  const unit = '(?:[$€£¥]|[A-Za-z]{3})';
  const integral = thousandsSign ? `[1-9]\\d{0,2}(?:${thousandsSign}\\d{3})+|\\d+` : '\\d+';
  return new RegExp(`^(${unit} ?)?(${integral})(?:${decimalSign}(\\d{1,4}))?( ?${unit})?$`);
}

/** Converts a price; undefined if it is not written as declared. */
function mendPrice(price: string, declared: RegExp): string | undefined {
  const found = declared.exec(price.trim());
  if (!found) return undefined;
  const [, before = '', integral, decimals, after = ''] = found;
  const digits = integral!.replace(/\D/g, '');
  return `${before}${digits}${decimals ? `.${decimals}` : ''}${after}`;
}

const columnsRead = ['_line', '_codes', 'price'] as const;

function findColumns(header: string[]): Record<(typeof columnsRead)[number], number> {
  const names = header.map((name) => name.trim().toLowerCase());
  const missing = columnsRead.find((column) => !names.includes(column));
  if (missing) throw new UsageError(`Not a rejects.csv with prices: missing column ${missing}.`);
  const [_line, _codes, price] = columnsRead.map((column) => names.indexOf(column)) as [
    number,
    number,
    number,
  ];
  return { _line, _codes, price };
}

/**
 * Converts a rejects.csv.
 * @param args - options that declare the separators
 * @param say - receives one line per message
 * @throws UsageError
 */
export async function mendRejects(
  args: string[],
  source: Readable,
  target: Writable,
  say: (line: string) => void,
): Promise<void> {
  const declared = declaredPrice(args);
  const chunks = source.setEncoding('utf8')[Symbol.asyncIterator]() as AsyncIterator<string>;
  const first = await chunks.next();
  const beginning = first.done ? '' : first.value;
  async function* input(): AsyncGenerator<string> {
    yield beginning;
    yield* { [Symbol.asyncIterator]: () => chunks };
  }
  let mended = 0;
  let leftOut = 0;
  async function* mend(rows: AsyncIterable<string[]>): AsyncGenerator<string[]> {
    let places: Record<(typeof columnsRead)[number], number> | undefined;
    const leaveOut = (line: string, reason: string) => {
      leftOut++;
      say(`line ${line} left out: ${reason}`);
    };
    for await (const row of rows) {
      if (!places) {
        places = findColumns(row);
        yield row;
        continue;
      }
      const line = row[places._line]!;
      const codes = row[places._codes]!;
      const at = places.price;
      if (codes !== 'invalid_price') {
        leaveOut(line, codes);
        continue;
      }
      const price = mendPrice(row[at]!, declared);
      if (price === undefined) {
        leaveOut(line, `the price ${JSON.stringify(row[at])} is not written as declared`);
        continue;
      }
      mended++;
      yield row.with(at, price);
    }
  }
  // The first generated column is followed by the feed's delimiter.
  const delimiter = /^\uFEFF?_line([,;\t])/.exec(beginning)?.[1] ?? ',';
  const parser = parse({
    bom: true,
    delimiter,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
  });
  await pipeline(input, parser, mend, stringify({ delimiter }), target);
  say(`mended: ${mended}, left out: ${leftOut}`);
}

if (require.main === module) {
  mendRejects(process.argv.slice(2), process.stdin, process.stdout, console.error).catch((error: unknown) => {
    console.error(error instanceof UsageError ? error.message : error);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  });
}
