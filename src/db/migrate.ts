import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import { migrations } from '../../migrations';
import { limits } from '../limits';
import { migrateQueue, queueVersion } from '../queue/queue';
import type { Database, DatabaseAddress } from './database';

/** The oldest version that has all that our statements use, as `server_version_num` writes it. */
const oldestVersion = { number: 150_000, name: '15' };

/** Key of the transaction lock that lets one process migrate at a time. */
export const migrationLock = 0x70636174;

/** Names without a file ending, so that compiled and uncompiled code agree on what has run. */
const source: Knex.MigrationSource<string> = {
  getMigrations: () => Promise.resolve(Object.keys(migrations)),
  getMigrationName: (name) => name,
  getMigration: (name) => Promise.resolve(migrations[name]!),
};

/**
 * Brings the schema up to date, and that of the queue. Safe to call at once from several processes: one works, the others
 * wait and find nothing to do.
 * @param signal - ends the wait for another process; a migration that has begun is finished
 * @throws Error when PostgreSQL is too old, the database's encoding is not UTF-8, or a migration fails (then none of it
 *   is applied); the signal's reason
 */
export async function migrateToLatest(db: Database, signal?: AbortSignal): Promise<void> {
  // Asked for again and again: a wait in the server could not be ended from here. In a transaction of its own each time:
  // those who wait within one could keep all connections of a small pooler, and the one who works needs three.
  while (!(await migrateAlone(db, signal))) {
    await sleep(limits.migrationLockPollMilliseconds, undefined, { signal });
  }
}

/** @returns whether it was done; not while another process does it */
function migrateAlone(db: Database, signal?: AbortSignal): Promise<boolean> {
  return db.transaction(async (lock) => {
    await checkServer(lock);
    if (!(await takeLock(lock))) return false;
    signal?.throwIfAborted();
    // Whoever holds knex's own lock while we hold ours has died: it would block every start from now on.
    await db.migrate.forceFreeMigrationsLock({ migrationSource: source });
    await db.migrate.latest({ migrationSource: source });
    await migrateQueue((db.client as { config: { connection: DatabaseAddress } }).config.connection);
    return true;
  });
}

/**
 * Which steps to the schema of this version nobody has taken yet; what a newer version has added besides is none of them. It
 * only reads: for accounts that may not change the schema.
 * @returns their names; none when the schema can be used
 * @throws Error when PostgreSQL is too old, or the database's encoding is not UTF-8
 */
export async function missingMigrations(db: Database): Promise<string[]> {
  await checkServer(db);
  type Tables = { ours: boolean; queue: boolean };
  const { rows } = await db.raw<{ rows: [Tables] }>(
    `select to_regclass('knex_migrations') is not null as ours,
       to_regclass('graphile_worker.migrations') is not null as queue`,
  );
  const { ours, queue } = rows[0];
  const done = ours ? await db<{ name: string }>('knex_migrations').pluck('name') : [];
  const versions = queue ? await db<{ id: number }>('graphile_worker.migrations').pluck('id') : [];
  const missing = Object.keys(migrations).filter((name) => !done.includes(name));
  return versions.includes(queueVersion) ? missing : [...missing, `queue ${queueVersion}`];
}

/**
 * Waits until somebody else has brought the schema up to date.
 * @param onWait - told once, when there is something to wait for, what is missing
 * @throws as `missingMigrations`; the signal's reason
 */
export async function waitForMigrations(
  db: Database,
  onWait: (missing: string[]) => void,
  signal?: AbortSignal,
): Promise<void> {
  let missing = await missingMigrations(db);
  if (missing.length > 0) onWait(missing);
  while (missing.length > 0) {
    await sleep(limits.schemaPollMilliseconds, undefined, { signal });
    missing = await missingMigrations(db);
  }
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
