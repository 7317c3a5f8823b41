import type { Settled } from '../../concurrency/batcher';
import type { PartnerScope } from '../../caller';
import { isDatabaseUnavailable, isNodeLost, queryRows, type Database } from '../database';
import { raw, sql, type Sql } from '../sql';
import type { ProductSource } from './layout-interface';

/*
 * Products by number where Citus distributes `products`: a local table maps numbers to partners, and a statement that names
 * partners reads only their shards.
 */

/** The partner that a product number belongs to. */
export interface ProductOwner {
  partner_id: number;
  partner_name: string;
}

type Named<Row> = Row & Pick<ProductOwner, 'partner_name'>;

/** Finds the partners of product numbers, whether or not such products exist. */
async function findOwners(
  db: Database,
  productIds: readonly number[],
): Promise<(ProductOwner | undefined)[]> {
  const rows = await queryRows<ProductOwner | Record<keyof ProductOwner, null>>(
    db,
    sql`select partner_id, partner_name from partners_of_products(${productIds as number[]}) order by place`,
    true,
  );
  return rows.map((row) => (row.partner_id === null ? undefined : row));
}

/** Finds the partner that a product number belongs to in a scope, whether or not the product exists. */
export async function findOwner(
  db: Database,
  productId: number,
  scope: PartnerScope,
): Promise<ProductOwner | undefined> {
  const [owner] = await findOwners(db, [productId]);
  return owner && (scope === null || scope === owner.partner_name) ? owner : undefined;
}

/** Reads a product by number, with the name of its partner. */
export async function readProduct<Row>(
  db: Database,
  columns: string,
  productId: number,
): Promise<Named<Row> | undefined> {
  const [row] = await queryRows<Named<Row>>(
    db,
    sql`select partner_name, ${raw(columns)}
      from (select partner_name, (product).* from product_by_number(${productId})) as products`,
    true,
  );
  return row;
}

/**
 * Reads products by number, with their partners. A partner whose node is lost has that error for its products.
 * @param columns - contains `product_id`
 */
export async function readByNumber<Row extends { product_id: number }>(
  db: Database,
  columns: string,
  productIds: readonly number[],
): Promise<Map<number, Settled<Named<Row>>>> {
  const [first, ...others] = productIds;
  if (first === undefined) return new Map();
  if (others.length === 0) {
    try {
      const row = await readProduct<Row>(db, columns, first);
      return new Map(row && [[first, { result: row }]]);
    } catch (error) {
      if (!isNodeLost(error)) throw error;
      return new Map([[first, { error }]]);
    }
  }
  const owners = await findOwners(db, productIds);
  const idsOf = new Map<number, number[]>();
  const names = new Map<number, string>();
  owners.forEach((owner, at) => {
    if (!owner) return;
    idsOf.set(owner.partner_id, [...(idsOf.get(owner.partner_id) ?? []), productIds[at]!]);
    names.set(owner.partner_id, owner.partner_name);
  });
  const found = new Map<number, Settled<Named<Row>>>();
  const read = async (partnerIds: number[]): Promise<void> => {
    const ids = partnerIds.flatMap((partnerId) => idsOf.get(partnerId)!);
    try {
      const rows = await readOfPartners<Row>(db, columns, partnerIds, ids);
      for (const row of rows)
        found.set(row.product_id, { result: { ...row, partner_name: names.get(row.partner_id)! } });
    } catch (error) {
      if (!isDatabaseUnavailable(error)) throw error;
      // Of several partners, some may be on other nodes.
      if (partnerIds.length > 1) await Promise.all(partnerIds.map((partnerId) => read([partnerId])));
      else for (const id of ids) found.set(id, { error });
    }
  };
  await read([...idsOf.keys()]);
  return found;
}

async function readOfPartners<Row>(
  db: Database,
  columns: string,
  partnerIds: number[],
  productIds: number[],
): Promise<(Row & Pick<ProductOwner, 'partner_id'>)[]> {
  if (productIds.length === 0) return [];
  const statement = sql`
    select partner_id, ${raw(columns)} from products where partner_id = any (${partnerIds}) and product_id = any (${productIds})`;
  return queryRows(db, statement);
}

/** @param rows - a JSON array; null if there are none */
export const productSourceOf = (rows: string | null): ProductSource => ({
  as: (alias) =>
    sql`json_populate_recordset(cast(null as products), cast(${rows ?? '[]'} as json)) as ${raw(alias)}`,
});

/** Reads the products of a partner that satisfy a condition: only the coordinator then joins them with local tables. */
export async function readShard(db: Database, partnerId: number, condition: Sql): Promise<ProductSource> {
  const statement = sql`
    select cast(json_agg(products) as text) as rows from products where partner_id = ${partnerId} and ${condition}`;
  const [read] = await queryRows<{ rows: string | null }>(db, statement);
  return productSourceOf(read!.rows);
}

/** The matches in a part of a partner's products by number. */
export interface ShardPart {
  products: ProductSource;
  /** The last number of the part, if there may be further products. */
  lastId?: number;
}

/**
 * Reads the matches among the next products of a partner by number: only matches leave the shard.
 * @param isNext - selects the products after the previous part
 * @param size - maximum number of products that are examined
 * @param limit - maximum number of matches, the first ones; the part ends with the last of them
 */
export async function readPart(
  db: Database,
  partnerId: number,
  { isNext, matches, size, limit }: { isNext: Sql; matches: Sql; size: number; limit: number },
): Promise<ShardPart> {
  const statement = sql`
    with part as materialized (
      select max(product_id) as last_id, count(*) = ${raw(size)} as is_full
      from (
        select product_id from products where partner_id = ${partnerId} and ${isNext} order by product_id limit ${raw(size)}
      ) as products
    ), match as materialized (
      select * from products
      where partner_id = ${partnerId} and ${isNext} and product_id <= (select last_id from part) and ${matches}
      order by product_id limit ${raw(limit)}
    )
    select cast(json_agg(match) as text) as rows,
      case when count(*) = ${raw(limit)} then max(product_id)
        else (select last_id from part where is_full) end as "lastId"
    from match`;
  const [read] = await queryRows<{ rows: string | null; lastId: number | null }>(db, statement);
  const { rows, lastId } = read!;
  return { products: productSourceOf(rows), ...(lastId !== null && { lastId }) };
}
