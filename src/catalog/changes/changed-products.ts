import type { Knex } from 'knex';
import { queryRows } from '../../base/db/database';
import { recordProducts } from '../../base/db/layout/product-layout';
import { sql } from '../../base/db/sql';

/**
 * Records that products of a partner were changed without triggers. The next run reads its whole feed, the search index
 * reads the products again, and the products are counted. The history does not get such a change.
 * The log entries come first: they wait for nothing. The count waits for the run of the partner.
 */
export async function recordChangedProducts(trx: Knex.Transaction, partnerId: number): Promise<void> {
  await queryRows(trx, sql`insert into manual_changes (partner_id) values (${partnerId})`);
  await queryRows(trx, sql`insert into search_backlog (partner_id) values (${partnerId})`);
  await queryRows(trx, sql`select recount_partner(${partnerId})`);
  await recordProducts(trx, partnerId);
}
