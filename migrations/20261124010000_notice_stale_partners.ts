import type { Knex } from 'knex';
import { withShortLock } from './short-lock';

/** Each attempt for the locks is a transaction of its own. */
export const config = { transaction: false };

/** Creates the memory of partners without a completed feed for days. Can be repeated after a failure. */
export async function up(db: Knex): Promise<void> {
  await withShortLock(
    db,
    `
      -- A partner that was found to be stale has one row from then on.
      create table if not exists stale_partners (
        -- Releases that do not know this table remove partners too.
        partner_id bigint primary key references partners on delete cascade,
        -- The completed run since which partner.stale was published; -infinity before the first.
        completed_at timestamptz not null,
        is_stale boolean not null
      );
      create index if not exists stale_partners_stale on stale_partners (partner_id) where is_stale;
    `,
  );
  await withShortLock(
    db,
    `create index if not exists sources_stale_after on sources (partner_id)
       where definition ->> 'stale_after_days' is not null`,
  );
}

/** Drops what `up` created. */
export async function down(db: Knex): Promise<void> {
  await db.raw(`
    drop index sources_stale_after;
    drop table stale_partners;
  `);
}
