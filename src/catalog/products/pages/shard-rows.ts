import { queryRows, type Database } from '../../../base/db/database';
import { sql } from '../../../base/db/sql';
import type { ProductRow } from '../products.repository';

/** A product in the form of its shard. */
export type ShardRow = Omit<ProductRow, 'partner_name'> & { partner_id: number };

/** Reads the names of the partners, and adds them to the rows. */
export async function namePartners(db: Database, rows: readonly ShardRow[]): Promise<ProductRow[]> {
  if (rows.length === 0) return [];
  const partnerIds = [...new Set(rows.map(({ partner_id }) => partner_id))];
  const partners = await queryRows<{ partner_id: number; partner_name: string }>(
    db,
    sql`select partner_id, partner_name from partners where partner_id = any (${partnerIds})`,
    true,
  );
  return withNames(rows, new Map(partners.map(({ partner_id, partner_name }) => [partner_id, partner_name])));
}

/** Adds the names of partners. Omits a product whose partner was merged since. */
export const withNames = (
  rows: readonly ShardRow[],
  names: ReadonlyMap<number, string | null>,
): ProductRow[] =>
  rows.flatMap((row) => {
    const partner_name = names.get(row.partner_id);
    return typeof partner_name === 'string' ? [{ ...row, partner_name }] : [];
  });
