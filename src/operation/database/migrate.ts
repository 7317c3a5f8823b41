import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import document from '../../../generated/openapi.json';
import { migrations, type MarkedMigration, type Version } from '../../../migrations';
import { ConfigError } from '../../base/settings';
import { queryRows, type Database } from '../../base/db/database';
import { requireLocalProducts } from '../../base/db/layout/product-layout';
import { raw, sql } from '../../base/db/sql';
import { onlyLock, tryLock } from '../../base/db/locks';

/** The oldest supported version of PostgreSQL, as in `server_version_num`. */
const oldestVersion = { number: 150_000, name: '15' };

/** Pause between attempts to get the migration lock. */
const lockPollMilliseconds = 200;

/** Pause between checks by a process that may not migrate. */
const schemaPollMilliseconds = 1_000;

export interface KnownSchema {
  version: Version;
  migrations: Record<string, MarkedMigration>;
}

export const currentSchema: KnownSchema = { version: document.info.version as Version, migrations };

/**
 * The last migration in `knex_migrations`. Version 1.2.0 rejects unknown names there, so later ones are recorded in
 * `schema_migrations`, where unknown names are no error.
 */
const lastInKnexTable = '20261122080000_create_webhook_endpoints';

/**
 * Makes knex's settings for the two tables of migrations, in their order.
 *
 * Names have no file extension, so that compiled and uncompiled code agree.
 */
export function migratorConfigs({ migrations: known }: KnownSchema): Knex.MigratorConfig[] {
  const configOf = (tableName: string, names: string[]): Knex.MigratorConfig => ({
    tableName,
    disableMigrationsListValidation: true,
    migrationSource: {
      getMigrations: () => Promise.resolve(names),
      getMigrationName: (name: string) => name,
      getMigration: (name: string) => Promise.resolve(known[name]!),
    } satisfies Knex.MigrationSource<string>,
  });
  const names = Object.keys(known);
  return [
    configOf(
      'knex_migrations',
      names.filter((name) => name <= lastInKnexTable),
    ),
    configOf(
      'schema_migrations',
      names.filter((name) => name > lastInKnexTable),
    ),
  ];
}

/**
 * Migrates the schema to this version. Safe to call concurrently from several processes: one migrates, the others wait.
 * @param signal - aborts the wait for another process, not a migration in progress
 * @returns the migrations of newer versions in the database
 * @throws ConfigError after an incompatible contract step of a newer version, or when a step is missing and products are
 * distributed; Error when PostgreSQL is too old, the encoding is not UTF-8, or a migration fails (and is then rolled back);
 * the signal's reason
 */
export async function migrateToLatest(
  db: Database,
  signal?: AbortSignal,
  known = currentSchema,
): Promise<string[]> {
  // Polls, with a transaction per attempt. A wait in the server could not be aborted, and waiting transactions could occupy all connections
  // of a small pooler, of which the migration needs two.
  for (;;) {
    const newer = await migrateAlone(db, known, signal);
    if (newer) return newer;
    await sleep(lockPollMilliseconds, undefined, { signal });
  }
}

/** @returns undefined while another process migrates */
function migrateAlone(db: Database, known: KnownSchema, signal?: AbortSignal): Promise<string[] | undefined> {
  return db.transaction(async (lock) => {
    await checkServer(lock);
    if (!(await tryLock(lock, 'migration', onlyLock.migration))) return undefined;
    signal?.throwIfAborted();
    const { missing, newer } = await readSchema(lock, known);
    if (missing.length > 0) {
      await requireLocalProducts(
        (text) => queryRows(lock, raw(text)),
        () => distributedError(missing),
      );
    }
    // A statement with parameters keeps its snapshot until the next one: `create index concurrently` would wait for it.
    await queryRows(lock, raw('set local idle_in_transaction_session_timeout = 0'));
    const afterEach = (trx: Knex, names: unknown[]) =>
      recordContract(trx, known.migrations[names[0] as string]!);
    for (const config of migratorConfigs(known)) {
      // While this process has the migration lock, knex's lock is left over from a dead process, and would block every start.
      await db.migrate.forceFreeMigrationsLock(config);
      await db.migrate.latest({ ...config, afterEach });
    }
    return newer;
  });
}

/** Steps of the schema are written for local tables. */
const distributedError = (missing: string[]) =>
  new ConfigError(
    `The products are distributed, and migrations are for local ones (missing: ${missing.join(', ')}). With the version that has run ` +
      'until now, call npm run migrate -- --distribute 0; then migrate with this one, and distribute the products again.',
  );

/** Records the oldest compatible version after a contract step. */
async function recordContract(trx: Knex, migration: MarkedMigration): Promise<void> {
  if (migration.kind !== 'contract') return;
  const { compatibleFrom } = migration;
  const current = await trx<{ compatible_from: string }>('schema_compatibility').first('compatible_from');
  if (!isOlder(current!.compatible_from, compatibleFrom)) return;
  await trx('schema_compatibility').update({ compatible_from: compatibleFrom });
  // Version 1.2.0 checks this table only, and rejects unknown names in a message that contains them.
  await trx('knex_migrations').insert({
    name: `version ${compatibleFrom} of the service, or later`,
    batch: 0,
    migration_time: trx.fn.now(),
  });
}

/** The state of the schema for one version of the service. */
interface SchemaState {
  missing: string[];
  /** Unknown migrations, of newer versions. */
  newer: string[];
}

/** Reads which migrations were made. @throws ConfigError when the schema is too new */
async function readSchema(db: Database, { version, migrations: known }: KnownSchema): Promise<SchemaState> {
  const names = (tableName: string) => db<{ name: string }>(tableName).orderBy('id').pluck('name');
  const frozen = (await hasTable(db, 'knex_migrations')) ? await names('knex_migrations') : [];
  const later = (await hasTable(db, 'schema_migrations')) ? await names('schema_migrations') : [];
  const compatibleFrom = (await hasTable(db, 'schema_compatibility'))
    ? (await db<{ compatible_from: string }>('schema_compatibility').first('compatible_from'))!
        .compatible_from
    : version;
  if (isOlder(version, compatibleFrom)) {
    throw new ConfigError(
      `The database has the schema of a newer version: start version ${compatibleFrom} of the service or later; ` +
        `this is ${version}.`,
    );
  }
  const done = new Set([...frozen, ...later]);
  return {
    missing: Object.keys(known).filter((name) => !done.has(name)),
    newer: later.filter((name) => !(name in known)),
  };
}

async function hasTable(db: Database, name: string): Promise<boolean> {
  const [table] = await queryRows(db, sql`select where to_regclass(${name}) is not null`);
  return table !== undefined;
}

export const isOlder = (first: string, second: string) => byNumber.compare(first, second) < 0;
const byNumber = new Intl.Collator('en', { numeric: true });

/** Reads the schema of a supported server. @throws as `migrateToLatest` */
async function readState(db: Database, known: KnownSchema): Promise<SchemaState> {
  await checkServer(db);
  return readSchema(db, known);
}

/**
 * Lists the missing migrations of this version, also for accounts without the right to change the schema.
 * @throws as `migrateToLatest`
 */
export async function missingMigrations(db: Database, known = currentSchema): Promise<string[]> {
  return (await readState(db, known)).missing;
}

/**
 * Waits until another process has migrated the schema.
 * @param onWait - called once with the missing migrations, if there are any
 * @returns the migrations of newer versions in the database
 * @throws as `migrateToLatest`
 */
export async function waitForMigrations(
  db: Database,
  onWait: (missing: string[]) => void,
  signal?: AbortSignal,
  known = currentSchema,
): Promise<string[]> {
  let state = await readState(db, known);
  if (state.missing.length > 0) onWait(state.missing);
  while (state.missing.length > 0) {
    await sleep(schemaPollMilliseconds, undefined, { signal });
    state = await readState(db, known);
  }
  return state.newer;
}

async function checkServer(db: Database): Promise<void> {
  type Server = { version: number; version_name: string; encoding: string };
  const [server] = await queryRows<Server>(
    db,
    sql`select cast(current_setting('server_version_num') as integer) as version,
       current_setting('server_version') as version_name, current_setting('server_encoding') as encoding`,
  );
  const { version, version_name, encoding } = server!;
  if (version < oldestVersion.number) {
    throw new Error(`It must be PostgreSQL ${oldestVersion.name} or later; it is ${version_name}.`);
  }
  if (encoding !== 'UTF8') throw new Error(`The database must have the encoding UTF8; it has ${encoding}.`);
}
