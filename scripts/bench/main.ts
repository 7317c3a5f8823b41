/**
 * Measures each performance target beside its limit (PostgreSQL or a bare server), in the same rounds on the same machine. Prints
 * a table, and writes it as JSON to bench-results/. A missed target is a result, not an error: the exit code is 1 only if a part
 * could not be measured.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { binaries } from '../../src/base/embedded-postgres/files';
import { measureAnalytics } from './analytics';
import { measureBuilds } from './builds';
import { measureBursts } from './bursts';
import { measureCatalog } from './catalog';
import { measureChanges } from './changes';
import { measureCheck } from './check';
import { measureConsole } from './console';
import { measureEtl } from './etl';
import { measureFormats } from './formats';
import { measureGrowth } from './growth';
import { measureHistory } from './history';
import { measureIndexes } from './indexes';
import { measureLayers } from './layers';
import { measurePeers } from './peers';
import {
  evaluate,
  formatTable,
  parts,
  type BenchContext,
  type Measurement,
  type Part,
  type Result,
  type Setting,
} from './report';
import { measureRequests } from './requests';
import { measureRetention } from './retention';
import { databaseKinds } from './servers';
import { measureSources } from './sources';
import { measureWorkers } from './workers';

const usage = `usage: bench [--quick] [--only=part,…] [--rounds=n] [--products=n] …

  --quick     a tenth of the size and less, to see that everything works; its figures are no proof
  --only      only these parts of ${parts.join(', ')}; all but console, release, indexes and peers by default
  --rounds    how often each thing is measured; 3 by default
  --products  products of the parts catalog, console, growth, indexes, release, requests and sources, rows of the part peers
  --partners  partners of the part catalog; 30 by default
  --database  the only one of ${databaseKinds.join(' and ')} for requests; for release, external by default; for catalog, embedded
  --kinds     only requests and releases' requests whose name contains one of these: 'brand,order'
  --settings  environment of the service in requests and release: NAME=value,…
  --other     the folder of the build that release compares with; the last release by default`;

const measures: Record<Part, (context: BenchContext) => Promise<Measurement[]>> = {
  etl: measureEtl,
  formats: measureFormats,
  check: measureCheck,
  requests: measureRequests,
  catalog: measureCatalog,
  changes: measureChanges,
  history: measureHistory,
  analytics: measureAnalytics,
  workers: measureWorkers,
  bursts: measureBursts,
  growth: measureGrowth,
  retention: measureRetention,
  console: measureConsole,
  sources: measureSources,
  layers: measureLayers,
  release: measureBuilds,
  indexes: measureIndexes,
  peers: measurePeers,
};

/** Parts that take long, or need more than the project's packages. */
const onlyOnRequest: readonly Part[] = ['console', 'release', 'indexes', 'peers'];

const resultFolder = join(__dirname, '..', '..', 'bench-results');

async function main(): Promise<void> {
  const { only, ...options } = readOptions();
  const results: Result[] = [];
  for (const part of only) {
    const folder = mkdtempSync(join(tmpdir(), `catalog-bench-${part}-`));
    // As root, PostgreSQL runs as another user. Without access to the folder, its data would be elsewhere.
    chmodSync(folder, 0o755);
    const log = (line: string) => process.stderr.write(`${part.padEnd(9)} ${line}\n`);
    try {
      results.push(...(await measures[part]({ ...options, folder, log })).map(evaluate));
    } catch (error) {
      console.error(error);
      log('could not be measured');
      process.exitCode = 1;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  const { quick, rounds } = options;
  writeReport({ ...(await describeSetting()), quick, rounds }, results);
}

type Options = Omit<BenchContext, 'folder' | 'log'> & { only: Part[] };

/** Parses the command line; exits with the usage if it is wrong. */
function readOptions(): Options {
  try {
    const text = { type: 'string' } as const;
    const { values } = parseArgs({
      options: {
        quick: { type: 'boolean', default: false },
        only: { ...text, default: parts.filter((part) => !onlyOnRequest.includes(part)).join() },
        rounds: { ...text, default: '3' },
        products: text,
        partners: text,
        database: text,
        kinds: text,
        settings: text,
        other: text,
      },
    });
    const only = values.only.split(',');
    const unknown = only.find((name) => !parts.some((part) => part === name));
    if (unknown !== undefined) throw new Error(`there is no part '${unknown}'`);
    const database = databaseKinds.find((kind) => kind === values.database);
    if (values.database !== undefined && !database)
      throw new Error(`there is no database '${values.database}'`);
    const settings = values.settings?.split(',').map((setting) => setting.split('=', 2));
    return {
      ...values,
      only: parts.filter((part) => only.includes(part)),
      rounds: wholeNumber('rounds', values.rounds, 1)!,
      products: wholeNumber('products', values.products, 1_000),
      partners: wholeNumber('partners', values.partners, 10),
      database,
      settings: settings && (Object.fromEntries(settings) as Record<string, string>),
    };
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    process.exit(2);
  }
}

function wholeNumber(name: string, text: string | undefined, least: number): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (!Number.isInteger(number) || number < least)
    throw new Error(`--${name} must be a whole number from ${least}`);
  return number;
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
    machine: `${cpus().length} x ${cpus()[0]!.model.replace(/\(R\)| @.*| [0-9]+-Core.*| Processor/g, '')}, ${Math.round(totalmem() / 2 ** 30)} GiB`,
    node: process.versions.node,
    postgres: postgres.trim().replace('postgres (PostgreSQL)', 'PostgreSQL'),
  };
}

function writeReport(setting: Setting, results: Result[]): void {
  console.log(formatTable(results, setting));
  mkdirSync(resultFolder, { recursive: true });
  const json = { ...setting, results };
  writeFileSync(join(resultFolder, 'bench.json'), `${JSON.stringify(json, undefined, 2)}\n`);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
