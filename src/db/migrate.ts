import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import document from '../../generated/openapi.json';
import { migrations, type MarkedMigration, type Version } from '../../migrations';
import { ConfigError } from '../shared/settings';
import type { Database } from './database';

/** The oldest version that has all that our statements use, as `server_version_num` writes it. */
const oldestVersion = { number: 150_000, name: '15' };

/** How often a start asks whether another process has ended its migration. */
const lockPollMilliseconds = 200;

/** How often a process that may not migrate asks whether another one has. */
const schemaPollMilliseconds = 1_000;

/** Key of the transaction lock that lets one process migrate at a time. */
export const migrationLock = 0x70636174;

/** What one version of the service knows of the schema. */
export interface KnownSchema {
  version: Version;
  migrations: Record<string, MarkedMigration>;
}

/** What this version knows. */
export const currentSchema: KnownSchema = { version: document.info.version as Version, migrations };

/**
 * The last migration that is recorded where knex records them by default. Version 1.2.0 refuses a database with names there
 * that it does not know, so all later ones are recorded in a table of their own, where unknown names are no error.
 */
const lastInKnexTable = '20261122080000_create_webhook_endpoints';

/**
 * Makes knex's settings for the two parts of the migrations, in the order in which they run.
 *
 * Names have no file ending, so that compiled and uncompiled code agree on what has run.
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
 * Brings the schema up to date. Safe to call at once from several processes: one works, the others
 * wait and find nothing to do.
 * @param signal - ends the wait for another process; a migration that has begun is finished
 * @returns the migrations of newer versions that the database has besides
 * @throws ConfigError when a newer version has made a contract step that this one does not work with; Error when
 *   PostgreSQL is too old, the database's encoding is not UTF-8, or a migration fails (then none of it is applied); the
 *   signal's reason
 */
export async function migrateToLatest(
  db: Database,
  signal?: AbortSignal,
  known = currentSchema,
): Promise<string[]> {
  // Asked for again and again: a wait in the server could not be ended from here. In a transaction of its own each time:
  // those who wait within one could keep all connections of a small pooler, and the one who works needs two.
  for (;;) {
    const newer = await migrateAlone(db, known, signal);
    if (newer) return newer;
    await sleep(lockPollMilliseconds, undefined, { signal });
  }
}

/** @returns undefined while another process does it */
function migrateAlone(db: Database, known: KnownSchema, signal?: AbortSignal): Promise<string[] | undefined> {
  return db.transaction(async (lock) => {
    await checkServer(lock);
    if (!(await takeLock(lock))) return undefined;
    signal?.throwIfAborted();
    const { newer } = await readSchema(lock, known);
    const afterEach = (trx: Knex, names: unknown[]) =>
      recordContract(trx, known.migrations[names[0] as string]!);
    for (const config of migratorConfigs(known)) {
      // Whoever holds knex's own lock while we hold ours has died: it would block every start from now on.
      await db.migrate.forceFreeMigrationsLock(config);
      await db.migrate.latest({ ...config, afterEach });
    }
    return newer;
  });
}

/** Notes in the database what it is compatible from, when a contract step raises that. */
async function recordContract(trx: Knex, migration: MarkedMigration): Promise<void> {
  if (migration.kind !== 'contract') return;
  const { compatibleFrom } = migration;
  const current = await trx<{ compatible_from: string }>('schema_compatibility').first('compatible_from');
  if (!isOlder(current!.compatible_from, compatibleFrom)) return;
  await trx('schema_compatibility').update({ compatible_from: compatibleFrom });
  // Version 1.2.0 looks for names that it does not know in this table only, and refuses to start with them in its message.
  await trx('knex_migrations').insert({
    name: `version ${compatibleFrom} of the service, or later`,
    batch: 0,
    migration_time: trx.fn.now(),
  });
}

/** The state of the schema, as one version of the service sees it. */
interface SchemaState {
  /** The migrations that were not made yet. */
  missing: string[];
  /** Those of newer versions, which this one does not know. */
  newer: string[];
}

/** Reads which migrations were made, and changes nothing. @throws ConfigError when the schema is too new */
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
  const sql = 'select to_regclass(?) is not null as there';
  const { rows } = await db.raw<{ rows: [{ there: boolean }] }>(sql, [name]);
  return rows[0].there;
}

/** Whether the first version comes before the second. */
export const isOlder = (first: string, second: string) => byNumber.compare(first, second) < 0;
const byNumber = new Intl.Collator('en', { numeric: true });

/** Reads the same of a server that can be used. @throws as `migrateToLatest` */
async function readState(db: Database, known: KnownSchema): Promise<SchemaState> {
  await checkServer(db);
  return readSchema(db, known);
}

/**
 * Lists the steps to the schema of this version that were not made yet. It only reads: for accounts that may not change the
 * schema.
 * @returns their names; none when the schema can be used
 * @throws as `migrateToLatest`
 */
export async function missingMigrations(db: Database, known = currentSchema): Promise<string[]> {
  return (await readState(db, known)).missing;
}

/**
 * Waits until another process has brought the schema up to date.
 * @param onWait - called once with what is missing, when there is something to wait for
 * @returns the migrations of newer versions that the database has besides
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
  const { rows } = await db.raw<{ rows: [Server] }>(
    `select cast(current_setting('server_version_num') as integer) as version,
       current_setting('server_version') as version_name, current_setting('server_encoding') as encoding`,
  );
  const { version, version_name, encoding } = rows[0];
  if (version < oldestVersion.number) {
    throw new Error(`It must be PostgreSQL ${oldestVersion.name} or later; it is ${version_name}.`);
  }
  if (encoding !== 'UTF8') throw new Error(`The database must have the encoding UTF8; it has ${encoding}.`);
}

async function takeLock(db: Knex.Transaction): Promise<boolean> {
  const sql = 'select pg_try_advisory_xact_lock(?) as taken';
  const { rows } = await db.raw<{ rows: [{ taken: boolean }] }>(sql, [migrationLock]);
  return rows[0].taken;
}
