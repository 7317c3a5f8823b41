import type { Knex } from 'knex';
import { withShortLock } from './short-lock';

/** Each attempt for the locks is a transaction of its own. */
export const config = { transaction: false };

/**
 * Creates the reasons for which partners need attention, and what loads leave for them. Can be repeated after a failure. The first
 * periodic check fills the table: an upgrade does not wait for it.
 */
export async function up(db: Knex): Promise<void> {
  await withShortLock(
    db,
    `
      -- Written by keepAttention only. No foreign key: its locks would wait for merges and removals of partners.
      create table if not exists partner_attention (
        partner_id bigint not null,
        reason text collate "C" not null,
        -- 1 is the worst.
        severity smallint not null,
        since timestamptz not null,
        count bigint not null,
        primary key (partner_id, reason)
      );
      create index if not exists partner_attention_worst on partner_attention (severity, since, partner_id);
    `,
  );
  await withShortLock(
    db,
    `
      alter table runs
        -- Of a completed load: 'some' rows have a price, 'none', or their column is 'absent'; null if that is not known.
        add column if not exists prices text collate "C",
        -- Of a load: products whose price jumps; null unless many do, or the run failed because of them.
        add column if not exists price_jumps bigint,
        -- Whether its file is one of corrected rows.
        add column if not exists is_correction boolean not null default false;
    `,
  );
  // The source that fetched the feed; null for an upload.
  await withShortLock(db, 'alter table feeds add column if not exists source_name text collate "C"');
}

/** Drops what `up` created. */
export async function down(db: Knex): Promise<void> {
  await db.raw(`
    drop table partner_attention;
    alter table runs drop column prices, drop column price_jumps, drop column is_correction;
    alter table feeds drop column source_name;
  `);
}
