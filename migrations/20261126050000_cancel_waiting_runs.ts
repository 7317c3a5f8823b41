import type { Knex } from 'knex';
import { withShortLock } from './short-lock';

/** Each attempt for the lock is a transaction of its own. */
export const config = { transaction: false };

/** Lets `runs` have runs that were cancelled before they started. Can be repeated after a failure. */
export async function up(db: Knex): Promise<void> {
  await withShortLock(
    db,
    `
      alter table runs
        drop constraint if exists runs_status_known,
        add constraint runs_status_known
          check (status in ('queued', 'running', 'completed', 'failed', 'cancelled')) not valid;
    `,
  );
  await db.raw('alter table runs validate constraint runs_status_known');
}

/** Drops what `up` allowed; these runs are forgotten. */
export async function down(db: Knex): Promise<void> {
  await db.raw(`
    delete from runs where status = 'cancelled';
    alter table runs
      drop constraint runs_status_known,
      add constraint runs_status_known check (status in ('queued', 'running', 'completed', 'failed'));
  `);
}
