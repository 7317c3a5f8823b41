import type { Database } from '../db/database';

/** All columns with partner names. */
const named = [
  'select partner_name from partners',
  'select partner_name from orders',
  'select partner_name from api_keys where revoked_at is null',
  'select partner_name from webhook_endpoints',
];

const isStoredSql = `
  select ${named.map((names) => `exists (select from (${names}) as named where partner_name = :name)`).join(' or ')} as "isStored"
`;

/**
 * Resolves a partner name to the stored one: its NFC form (Unicode). A name that was stored in another form earlier is
 * matched exactly.
 */
export async function storedPartnerName(db: Database, name: string): Promise<string> {
  const composed = name.normalize('NFC');
  if (composed === name) return name;
  const { rows } = await db.raw<{ rows: [{ isStored: boolean }] }>(isStoredSql, { name });
  return rows[0].isStored ? name : composed;
}

/** Loose index scan over orders: one step per name. */
const namesOutsideNfcSql = `
  with recursive ordering as (
    select (select partner_name from orders order by partner_name limit 1) as partner_name
    union all
    select (
      select partner_name from orders where orders.partner_name > ordering.partner_name order by partner_name limit 1
    )
    from ordering where partner_name is not null
  )
  select partner_name
  from (${named.map((names) => names.replace('from orders', 'from ordering')).join(' union ')}) as named
  where partner_name is not nfc normalized
  order by partner_name
`;

export async function listNamesOutsideNfc(db: Database): Promise<string[]> {
  const { rows } = await db.raw<{ rows: { partner_name: string }[] }>(namesOutsideNfcSql);
  return rows.map(({ partner_name }) => partner_name);
}
