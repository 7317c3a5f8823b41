import type { Knex } from 'knex';
import { migrations } from '../../migrations';
import type { Database } from './database';

/** Key of the transaction lock that lets one process migrate at a time. */
const migrationLock = 0x70636174;

/** Names without a file ending, so that compiled and uncompiled code agree on what has run. */
const source: Knex.MigrationSource<string> = {
  getMigrations: () => Promise.resolve(Object.keys(migrations)),
  getMigrationName: (name) => name,
  getMigration: (name) => Promise.resolve(migrations[name]!),
};

/**
 * Brings the schema up to date. Safe to call at once from several processes: one works, the others wait and find
 * nothing to do.
 * @throws Error when the database's encoding is not UTF-8, or a migration fails (then none of it is applied).
 */
export async function migrateToLatest(db: Database): Promise<void> {
  await db.transaction(async (lock) => {
    await lock.raw('select pg_advisory_xact_lock(?)', [migrationLock]);
    const { rows } = await lock.raw<{ rows: { server_encoding: string }[] }>('show server_encoding');
    if (rows[0]!.server_encoding !== 'UTF8') {
      throw new Error(`The database must have the encoding UTF8; it has ${rows[0]!.server_encoding}.`);
    }
    // Whoever holds knex's own lock while we hold ours has died: it would block every start from now on.
    await db.migrate.forceFreeMigrationsLock({ migrationSource: source });
    await db.migrate.latest({ migrationSource: source });
  });
}
