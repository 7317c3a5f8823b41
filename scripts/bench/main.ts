/**
 * Measures each performance target beside its limit (PostgreSQL itself, or a bare server), in the same rounds on the same
 * machine. Prints a table, and writes it as JSON to bench-results/. A missed target is a result, not an error:
 * the exit code is 1 only if a part could not be measured.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { binaries } from '../../src/embedded-postgres/files';
import { measureAnalytics } from './analytics';
import { measureBursts } from './bursts';
import { measureCatalog } from './catalog';
import { measureChanges } from './changes';
import { measureConsole } from './console';
import { measureEtl } from './etl';
import { measureFormats } from './formats';
import { measureGrowth } from './growth';
import { measureHistory } from './history';
import { measureIndexes } from './indexes';
import { measureLastRelease } from './last-release';
import { measureOrders } from './orders';
import { measurePeers } from './peers';
import {
  evaluate,
  formatSetting,
  formatTable,
  parts,
  type BenchContext,
  type Measurement,
  type Part,
  type Result,
  type Setting,
} from './report';
import { measureRetention } from './retention';
import { measureSources } from './sources';
import { measureWorkers } from './workers';

const usage = `usage: bench [--quick] [--only=part,…] [--rounds=n] [--products=n]

  --quick     a tenth of the size and less, to see that everything works; its figures are no proof
  --only      only these parts of ${parts.join(', ')}; all but console, release, indexes and peers by default
  --rounds    how often each thing is measured; 3 by default
  --products  products of the parts console, indexes and sources, rows of the part peers; 1,000,000 by default.
              Products of the part growth; 10,000,000 by default`;

const measures: Record<Part, (context: BenchContext) => Promise<Measurement[]>> = {
  etl: measureEtl,
  formats: measureFormats,
  catalog: measureCatalog,
  changes: measureChanges,
  history: measureHistory,
  orders: measureOrders,
  analytics: measureAnalytics,
  workers: measureWorkers,
  bursts: measureBursts,
  growth: measureGrowth,
  retention: measureRetention,
  console: measureConsole,
  sources: measureSources,
  release: measureLastRelease,
  indexes: measureIndexes,
  peers: measurePeers,
};

/** They take long, or need more than the project's packages. */
const onlyOnRequest: readonly Part[] = ['console', 'release', 'indexes', 'peers'];

const resultFolder = join(__dirname, '..', '..', 'bench-results');

async function main(): Promise<void> {
  const { quick, only, rounds, products } = readOptions();
  const results: Result[] = [];
  for (const part of only) {
    const folder = mkdtempSync(join(tmpdir(), `catalog-bench-${part}-`));
    // As root, PostgreSQL runs under another account: without access to the folder, its data would be elsewhere.
    chmodSync(folder, 0o755);
    const log = (line: string) => process.stderr.write(`${part.padEnd(9)} ${line}\n`);
    try {
      const measurements = await measures[part]({
        quick,
        rounds,
        folder,
        log,
        ...(products && { products }),
      });
      results.push(...measurements.map(evaluate));
    } catch (error) {
      console.error(error);
      log('could not be measured');
      process.exitCode = 1;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  writeReport({ ...(await describeSetting()), quick, rounds }, results);
}

/** Parses the command line; exits with the usage if it is wrong. */
function readOptions(): { quick: boolean; only: Part[]; rounds: number; products?: number } {
  try {
    const { values } = parseArgs({
      options: {
        quick: { type: 'boolean', default: false },
        only: {
          type: 'string',
          default: parts.filter((part) => !onlyOnRequest.includes(part)).join(),
        },
        rounds: { type: 'string', default: '3' },
        products: { type: 'string' },
      },
    });
    const only = values.only.split(',');
    const unknown = only.find((name) => !parts.some((part) => part === name));
    if (unknown !== undefined) throw new Error(`there is no part '${unknown}'`);
    const rounds = Number(values.rounds);
    if (!Number.isInteger(rounds) || rounds < 1) throw new Error('--rounds must be a whole number from 1');
    const products = values.products === undefined ? undefined : Number(values.products);
    if (products !== undefined && !(Number.isInteger(products) && products >= 1_000))
      throw new Error('--products must be a whole number from 1000');
    return {
      quick: values.quick,
      only: parts.filter((part) => only.includes(part)),
      rounds,
      ...(products && { products }),
    };
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    process.exit(2);
  }
}

async function describeSetting(): Promise<Omit<Setting, 'quick' | 'rounds'>> {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: __dirname, encoding: 'utf8' }).trim();
  const changed = git('status', '--porcelain') === '' ? '' : ' with changes';
  const postgres = execFileSync(join(await binaries(undefined), 'postgres'), ['--version'], {
    encoding: 'utf8',
  });
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: `${git('rev-parse', '--short', 'HEAD')}${changed}`,
    machine: `${cpus().length} x ${cpus()[0]!.model}, ${Math.round(totalmem() / 2 ** 30)} GiB`,
    node: process.version,
    postgres: postgres.trim().replace('postgres (PostgreSQL)', 'PostgreSQL'),
  };
}

function writeReport(setting: Setting, results: Result[]): void {
  console.log(`${formatSetting(setting)}\n\n${formatTable(results)}`);
  mkdirSync(resultFolder, { recursive: true });
  const json = { ...setting, results };
  writeFileSync(join(resultFolder, 'bench.json'), `${JSON.stringify(json, undefined, 2)}\n`);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
