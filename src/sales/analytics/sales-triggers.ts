import { queryRows, type Database } from '../../base/db/database';
import { raw, sql } from '../../base/db/sql';
import { inTransaction } from '../../base/db/transaction';

/** A trigger that records changes of orders for the sales sums. */
export interface SalesTrigger {
  trigger: string;
  table: string;
}

/** Expected number of triggers, each enabled `always`. */
export const salesTriggers = 8;

export const fromSalesTriggers = raw(`
  from pg_trigger
  where tgrelid = any (cast(array['orders', 'order_items'] as regclass[])) and not tgisinternal
`);

/** Lists triggers that are not enabled `always`, as after `ALTER TABLE … ENABLE TRIGGER ALL`. */
export function listDisabledTriggers(db: Database): Promise<SalesTrigger[]> {
  return queryRows<SalesTrigger>(
    db,
    sql`select tgname as trigger, cast(cast(tgrelid as regclass) as text) as table ${fromSalesTriggers} and tgenabled <> 'A'
     order by tgname`,
  );
}

/**
 * Enables these triggers. Requires the owner of the tables.
 * @returns the triggers that were enabled
 * @throws errors of the database, also after waiting 8 s for a lock
 */
export function enableSalesTriggers(db: Database): Promise<SalesTrigger[]> {
  return inTransaction(db, 'request', async (trx) => {
    const disabled = await listDisabledTriggers(trx);
    for (const { trigger, table } of disabled) {
      const name = raw(`"${trigger.replaceAll('"', '""')}"`);
      await queryRows(trx, sql`alter table ${raw(table)} enable always trigger ${name}`);
    }
    return disabled;
  });
}
