import { queryRows } from '../../base/db/database';
import type { Reads } from '../../base/db/reads';
import { sql, type Sql } from '../../base/db/sql';
import { findPartnerId } from '../../catalog/partners/partners.repository';

/** Number of different skus that were looked up, and how many of them the partner has. */
export interface KnownSkus {
  checked: number;
  known: number;
}

/** Active products of a partner, who need not exist. Any age of the data will do. */
export class PartnerCatalog {
  constructor(
    private readonly reads: Reads,
    private readonly partnerName: string,
  ) {}

  /** Counts the skus that the partner has. @param skus - without repetitions */
  async count(skus: readonly string[]): Promise<KnownSkus> {
    return { checked: skus.length, known: (await this.knownOf(skus)).size };
  }

  /** Returns the skus that the partner has. */
  async knownOf(skus: readonly string[]): Promise<ReadonlySet<string>> {
    if (skus.length === 0) return new Set();
    const rows = await this.query<{ sku: string }>(
      (partnerId) => sql`
        select sku from products
        where partner_id = ${partnerId} and sku = any (cast(${skus} as text[])) and withdrawn_at is null`,
    );
    return new Set(rows.map(({ sku }) => sku));
  }

  /** Tells whether the partner has at least a number of products. */
  async hasAtLeast(products: number): Promise<boolean> {
    const rows = await this.query(
      (partnerId) => sql`
        select from products where partner_id = ${partnerId} and withdrawn_at is null
        offset ${products - 1} limit 1`,
    );
    return rows.length > 0;
  }

  private query<Row extends object>(statement: (partnerId: number) => Sql): Promise<Row[]> {
    return this.reads(Infinity, async (db) => {
      const partnerId = await findPartnerId(db, this.partnerName);
      return partnerId === undefined ? [] : queryRows<Row>(db, statement(partnerId));
    });
  }
}
