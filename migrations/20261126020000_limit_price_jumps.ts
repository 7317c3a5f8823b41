import type { Knex } from 'knex';
import { withShortLock } from './short-lock';

/** Each attempt for the lock is a transaction of its own. */
export const config = { transaction: false };

/** Adds the limit of price jumps of a feed. Can be repeated after a failure. */
export async function up(db: Knex): Promise<void> {
  await withShortLock(
    db,
    `alter table feeds
       -- Of its changed prices; null: no limit.
       add column if not exists max_price_jump_percent numeric`,
  );
}

/** Drops the column: these limits are forgotten. */
export async function down(db: Knex): Promise<void> {
  await db.raw('alter table feeds drop column max_price_jump_percent');
}
