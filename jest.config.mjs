import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { availableParallelism } from 'node:os';
import { delimiter, join } from 'node:path';

function isProgram(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** A program of this machine: the one that the variable names, or the first on the search path. */
function findProgram(variable, names) {
  if (process.env[variable]) return process.env[variable];
  // Debian has servers where ordinary accounts do not look.
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'];
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isProgram);
}

const chromium = findProgram('CHROMIUM', ['chromium', 'chromium-browser', 'google-chrome']);
// The tests find it here.
if (chromium) process.env.CHROMIUM = chromium;
// Where it is required, its absence is a failure of the tests.
const withBrowser = chromium !== undefined || process.env.BROWSER_REQUIRED === '1';
if (!withBrowser) {
  process.stderr.write(
    'LEFT OUT: the tests of /docs in a browser (test/system/browser), because there is no Chromium here.\n' +
      'Install it (Debian: apt-get install chromium), or name it in CHROMIUM.\n',
  );
}

const pgbouncer = findProgram('PGBOUNCER', ['pgbouncer']);
if (pgbouncer) process.env.PGBOUNCER = pgbouncer;
else if (process.env.PGBOUNCER_REQUIRED !== '1') {
  process.stderr.write(
    'LEFT OUT: the tests of several processes through PgBouncer (they run directly), because there is none here.\n' +
      'Install it (Debian: apt-get install pgbouncer), or name it in PGBOUNCER.\n',
  );
}

/** Whether a PgBouncer can keep prepared statements for its clients. */
function keepsStatements(program) {
  const [, minor] = /^PgBouncer 1\.(\d+)/.exec(program ? spawnSync(program, ['-V']).stdout : '') ?? [];
  return Number(minor) >= 21;
}

const keeping = [process.env.PGBOUNCER_KEEPING, pgbouncer].find(keepsStatements);
if (keeping) process.env.PGBOUNCER_KEEPING = keeping;
else {
  delete process.env.PGBOUNCER_KEEPING;
  process.stderr.write(
    'LEFT OUT: the tests of a pooler that keeps prepared statements, because there is no PgBouncer 1.21 or later here.\n' +
      'Install it, or name it in PGBOUNCER_KEEPING.\n',
  );
}

const postgres15 = process.env.POSTGRES_15 ?? '/usr/lib/postgresql/15/bin';
if (isProgram(join(postgres15, 'postgres'))) process.env.POSTGRES_15 = postgres15;
else {
  delete process.env.POSTGRES_15;
  process.stderr.write(
    'LEFT OUT: the tests of prepared statements on PostgreSQL 15, because it is not here.\n' +
      'Install it (Debian 12: apt-get install postgresql-15), or name the folder of its programs in POSTGRES_15.\n',
  );
}

const promtool = findProgram('PROMTOOL', ['promtool']);
if (promtool) process.env.PROMTOOL = promtool;

/** What all tests share. */
const common = {
  testEnvironment: '<rootDir>/test/support/jest/environment.cjs',
  runtime: '<rootDir>/test/support/jest/runtime.cjs',
  roots: ['<rootDir>/test'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } },
    ],
  },
  // TypeScript wants the ending of the compiled file in a dynamic import; here there is only the source.
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  // Spies and replaced properties last for one test: set them in it or in `beforeEach`.
  restoreMocks: true,
  setupFilesAfterEnv: ['<rootDir>/test/support/each-file.ts'],
};

/** PostgreSQL and the S3 server, once for all files of a run that need them. */
const withServers = {
  ...common,
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
};

/** The folders of the tiers; all other folders are the tier `api`. */
const folders = { unit: ['unit'], system: ['system', 'faults'], more: ['more'] };
const tests = (names) => names.map((name) => `<rootDir>/test/${name}/**/*.test.ts`);
const below = (names) => names.map((name) => `<rootDir>/test/${name}/`);

/** @type {import('jest').Config} */
export default {
  // A test belongs to the tier of its folder: `make test-unit`, `test-api`, `test-system`, `test-more`.
  projects: [
    { ...common, displayName: 'unit', testMatch: tests(folders.unit) },
    {
      ...withServers,
      displayName: 'api',
      testMatch: ['**/*.test.ts'],
      // Those of Citus need products in shards: `make test-citus DISTRIBUTED=1`.
      testPathIgnorePatterns: below([
        ...Object.values(folders).flat(),
        ...(process.env.TEST_SHARDS ? [] : ['citus']),
      ]),
    },
    {
      ...withServers,
      displayName: 'system',
      testMatch: tests(folders.system),
      testPathIgnorePatterns: withBrowser ? [] : below(['system/browser']),
    },
    {
      ...withServers,
      displayName: 'more',
      testMatch: tests(folders.more),
      // It needs the last release, built: `make test-release`.
      testPathIgnorePatterns: process.env.LAST_RELEASE ? [] : below(['more/release']),
    },
  ],
  reporters: ['default', ...(process.env.TEST_TIMES ? ['<rootDir>/test/support/jest/times.cjs'] : [])],
  testSequencer: '<rootDir>/test/support/jest/tier-order.cjs',
  // Tests also wait, for processes, connections and times: another file works meanwhile.
  maxWorkers: Math.ceil(1.5 * availableParallelism()),
  // A test that hangs is to be found out; how long one that works takes depends on what else the machine does.
  // A property may be tried for long (`make fuzz`).
  testTimeout: 240_000 + 1000 * Number(process.env.FUZZ_SECONDS ?? 0),
};
