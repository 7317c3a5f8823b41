import type { Knex } from 'knex';
import { withShortLock } from './short-lock';

/** Each attempt for the lock is a transaction of its own. */
export const config = { transaction: false };

/** Lets a revert in progress be cancelled. Can be repeated after a failure. */
export async function up(db: Knex): Promise<void> {
  await withShortLock(
    db,
    `
      -- Whether the cancellation of a revert is requested; of a load, the job says so.
      alter table runs add column if not exists cancel_requested boolean not null default false;
    `,
  );
}

/** Drops what `up` created. */
export async function down(db: Knex): Promise<void> {
  await db.raw('alter table runs drop column cancel_requested');
}
