import type { Knex } from 'knex';
import { withShortLock } from './short-lock';

/** Each attempt for the locks is a transaction of its own. */
export const config = { transaction: false };

/** Creates what leads from a product or an order item back to its record. Can be repeated after a failure. */
export async function up(db: Knex): Promise<void> {
  await withShortLock(
    db,
    `
      -- Ends a record; written by each run that completes.
      alter table feeds add column if not exists delimiter text collate "C";

      -- The feed of the product when it was ordered. A run does not lead to it: a revert gives products an earlier feed back.
      alter table order_items add column if not exists feed_id bigint;

      -- Digests of records whose raw file retention has removed.
      create table if not exists source_digests (
        feed_id bigint not null,
        record_offset bigint not null,
        sha256 bytea not null check (octet_length(sha256) = 32),
        primary key (feed_id, record_offset)
      );
    `,
  );
}

/** Drops what `up` created. */
export async function down(db: Knex): Promise<void> {
  await db.raw(`
    drop table source_digests;
    alter table order_items drop column feed_id;
    alter table feeds drop column delimiter;
  `);
}
