import type { Database } from '../db/database';
import { inTransaction } from '../db/transaction';

/** A trigger that notes changes of orders for the sums of sales. */
export interface SalesTrigger {
  trigger: string;
  table: string;
}

/** How many there are; each is enabled `always`. */
export const salesTriggers = 8;

/** The triggers of orders and their items that are ours. */
export const fromSalesTriggers = `
  from pg_trigger
  where tgrelid = any (cast(array['orders', 'order_items'] as regclass[])) and not tgisinternal
`;

/** Lists those that are not enabled `always`, as after `ALTER TABLE … ENABLE TRIGGER ALL`. */
export async function listDisabledTriggers(db: Database): Promise<SalesTrigger[]> {
  const { rows } = await db.raw<{ rows: SalesTrigger[] }>(
    `select tgname as trigger, cast(cast(tgrelid as regclass) as text) as table ${fromSalesTriggers} and tgenabled <> 'A'
     order by tgname`,
  );
  return rows;
}

/**
 * Enables those that are not. For an account that owns the tables.
 * @returns the triggers that it has enabled
 * @throws what the database throws, also after 8 s of waiting for other transactions
 */
export function enableSalesTriggers(db: Database): Promise<SalesTrigger[]> {
  return inTransaction(db, 'request', async (trx) => {
    const disabled = await listDisabledTriggers(trx);
    for (const { trigger, table } of disabled) {
      await trx.raw('alter table ?? enable always trigger ??', [table, trigger]);
    }
    return disabled;
  });
}
