import type { Knex } from 'knex';
import { withShortLock } from './short-lock';

/** Each attempt for the locks is a transaction of its own. */
export const config = { transaction: false };

/** Adds the `x-request-id` of the request of a run, for the log of the run. Can be repeated after a failure. */
export async function up(db: Knex): Promise<void> {
  await withShortLock(db, 'alter table validation_jobs add column if not exists request_id text collate "C"');
  await withShortLock(db, 'alter table runs add column if not exists request_id text collate "C"');
}

/** Drops what `up` added: runs are logged without it then. */
export async function down(db: Knex): Promise<void> {
  await db.raw(`
    alter table validation_jobs drop column request_id;
    alter table runs drop column request_id;
  `);
}
