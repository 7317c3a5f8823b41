import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { activeCurrencies } from '../currency';
import type { FeedHeader } from './header';

/** How long every digest is, in bytes: of a billion records, the chance that any two have the same is 1 in 10^11. */
export const digestBytes = 12;

/** What else than this folder, and the list of currencies that are active, decides what a record comes to. */
const otherSources = ['currency', 'availability'];

/** The text of all code that decides what a record comes to, the parser's too: nobody has to count a version up. */
function readSources(): string {
  const isCode = (name: string) => /(?<!\.d)\.[jt]s$/.test(name);
  const inFolder = readdirSync(__dirname).filter(isCode).sort();
  const others = readdirSync(join(__dirname, '..')).filter((name) =>
    otherSources.some((source) => isCode(name) && name.startsWith(`${source}.`)),
  );
  const paths = [...inFolder, ...others.sort().map((name) => join('..', name))];
  const files = [...paths.map((path) => join(__dirname, path)), require.resolve('csv-parse/sync')];
  return files.map((file) => readFileSync(file, 'utf8')).join('\0');
}

let rules: string | undefined;

/**
 * What a digest of a record has to cover besides the record: how it is read and cleaned (the code, the currencies, and
 * what Node takes for a letter or a space), and what the header makes of its fields.
 * @returns a digest of that
 */
export function digestContext({ delimiter, positions, fieldCount }: FeedHeader): Buffer {
  rules ??= hash('sha256', [readSources(), ...activeCurrencies, process.versions.unicode].join('\0'));
  const columns = Object.entries(positions).sort(([a], [b]) => (a < b ? -1 : 1));
  const text = JSON.stringify([rules, delimiter, columns, fieldCount]);
  return hash('sha256', text, 'buffer').subarray(0, digestBytes);
}
