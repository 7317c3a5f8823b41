import { queryRows, type Database } from '../../base/db/database';
import { raw, sql, type Sql } from '../../base/db/sql';

/** Selects all stored partner names. @param orders - a relation with the names in orders */
const namesSql = (orders: Sql) => sql`
  select partner_name from partners
  union all
  select partner_name from ${orders}
  union all
  select partner_name from api_keys where revoked_at is null
  union all
  select partner_name from webhook_endpoints`;

/** Resolves a partner name to the stored one: its NFC form (Unicode). An older name that was stored in another form is matched exactly. */
export async function storedPartnerName(db: Database, name: string): Promise<string> {
  const composed = name.normalize('NFC');
  if (composed === name) return name;
  const [row] = await queryRows<{ isStored: boolean }>(
    db,
    sql`select exists (select from (${namesSql(raw('orders'))}) as named where partner_name = ${name}) as "isStored"`,
  );
  return row!.isStored ? name : composed;
}

/** Loose index scan over orders: one step per name. */
const namesOutsideNfcSql = sql`
  with recursive ordering as (
    select (select partner_name from orders order by partner_name limit 1) as partner_name
    union all
    select (
      select partner_name from orders where orders.partner_name > ordering.partner_name order by partner_name limit 1
    )
    from ordering where partner_name is not null
  )
  select distinct partner_name
  from (${namesSql(raw('ordering'))}) as named
  where partner_name is not nfc normalized
  order by partner_name
`;

export async function listNamesOutsideNfc(db: Database): Promise<string[]> {
  const rows = await queryRows<{ partner_name: string }>(db, namesOutsideNfcSql);
  return rows.map(({ partner_name }) => partner_name);
}
