import { sql, type Sql } from '../../base/db/sql';

/**
 * The tables of sums and their keys. `sales-rollup.ts` writes all of them in one statement, `sales-verification.ts` compares them with
 * the orders. Whole months are read from the sums by month, the days before and after from those by day.
 */
export const sumKeys = {
  sales_by_partner: ['partner_name', 'currency'],
  sales_by_day: ['sales_day', 'currency'],
  sales_by_partner_and_day: ['partner_name', 'sales_day', 'currency'],
  sales_by_product: ['partner_name', 'product_id', 'currency'],
  sales_by_product_and_month: ['sales_month', 'partner_name', 'product_id', 'currency'],
  sales_by_product_and_day: ['sales_day', 'partner_name', 'product_id', 'currency'],
} as const;

export type SumsTable = keyof typeof sumKeys;

/** Whether the sums are by product: a release without them leaves them behind. */
export const isByProduct = (table: SumsTable) => (sumKeys[table] as readonly string[]).includes('product_id');

/** The first day of the month of a day, regardless of the time zone of the session. */
export const monthOf = (day: Sql): Sql => sql`cast(date_trunc('month', cast(${day} as timestamp)) as date)`;
