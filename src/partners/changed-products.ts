import type { Knex } from 'knex';

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
}
