import type { Knex } from 'knex';
import { isDistributed } from '../db/layout';

/**
 * Records that products of a partner were changed where no trigger fired: the next run reads its whole feed, the search index
 * reads the products again, and the products are counted. The history does not get such a change.
 *
 * The log entries come first: they wait for nothing. The count waits for the run of the partner.
 */
export async function recordChangedProducts(trx: Knex.Transaction, partnerId: number): Promise<void> {
  await trx.raw('insert into manual_changes (partner_id) values (?)', [partnerId]);
  await trx.raw('insert into search_backlog (partner_id) values (?)', [partnerId]);
  await trx.raw('select recount_partner(?)', [partnerId]);
  if (await isDistributed(trx)) await recordShard(trx, partnerId);
}

/** Records what triggers and writers keep about the products of a shard. A literal number routes the statement. */
async function recordShard(trx: Knex.Transaction, partnerId: number): Promise<void> {
  await trx.raw('delete from product_insertions where partner_id = ?', [partnerId]);
  await trx.raw(
    `insert into product_insertions
     select created_at, partner_id, count(*) from products where partner_id = ${partnerId} group by created_at, partner_id`,
  );
  await trx.raw(
    `insert into product_horizons
     select max(created_at) from product_insertions where partner_id = ?
     having max(created_at) > all (select created_at from product_horizons)`,
    [partnerId],
  );
  await trx.raw(`insert into product_partners (partner_id) values (${partnerId}) on conflict do nothing`);
}
