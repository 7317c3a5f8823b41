import type { Knex } from 'knex';
import { withShortLock } from './short-lock';

/** Each attempt for the lock on `feeds` is a transaction of its own. */
export const config = { transaction: false };

/**
 * Creates the indexes of the list of feeds: of all and of one partner, by time of upload. Both grow at their ends. Uploads and
 * ends of runs wait meanwhile: feeds are few beside products.
 */
export async function up(db: Knex): Promise<void> {
  await withShortLock(
    db,
    `
      create index if not exists feeds_uploaded_at on feeds (uploaded_at, feed_id);
      create index if not exists feeds_partner_id_uploaded_at on feeds (partner_id, uploaded_at, feed_id);
    `,
  );
}

/** Drops what `up` created. */
export async function down(db: Knex): Promise<void> {
  await db.raw('drop index feeds_uploaded_at, feeds_partner_id_uploaded_at');
}
