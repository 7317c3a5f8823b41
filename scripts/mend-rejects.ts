/**
 * Mends what can be mended by rule in a rejects.csv: an unreadable price or currency becomes empty. Rows that need a
 * person (no sku or name, wrong quoting, too many fields, a value too long) and rows that a later one replaces are left
 * out, and counted on standard error. An example of what a partner may do with the file; the result can be uploaded as
 * it is.
 *
 * usage: mend-rejects < rejects.csv > mended.csv
 */
import { pipeline } from 'node:stream/promises';
import { parse } from 'csv-parse';
import { stringify } from 'csv-stringify';

/** The column to empty, by code. */
const emptied: Record<string, string> = {
  invalid_price: 'price',
  currency_conflict: 'price',
  invalid_currency: 'currency',
};

async function main(): Promise<void> {
  const leftOut: Record<string, number> = {};
  let mended = 0;
  async function* mend(rows: AsyncIterable<string[]>): AsyncGenerator<string[]> {
    let columns: string[] | undefined;
    for await (const row of rows) {
      if (!columns) {
        columns = row.map((name) => name.trim().toLowerCase());
        yield row;
        continue;
      }
      const codes = row[columns.indexOf('_codes')]!.split(' ');
      const hopeless = codes.find((code) => !(code in emptied));
      if (hopeless) {
        leftOut[hopeless] = (leftOut[hopeless] ?? 0) + 1;
        continue;
      }
      for (const code of codes) row[columns.indexOf(emptied[code]!)] = '';
      mended++;
      yield row;
    }
  }
  const parser = parse({ bom: true, relax_column_count: true, relax_quotes: true });
  await pipeline(process.stdin, parser, mend, stringify(), process.stdout);
  console.error(`mended: ${mended}`, ...Object.entries(leftOut).map(([code, count]) => `${code}: ${count}`));
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
