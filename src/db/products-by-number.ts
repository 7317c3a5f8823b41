import { isDatabaseUnavailable, queryRows, type Database } from './database';
import { isDistributed } from './layout';
import { raw, sql, type Sql } from './sql';
import type { Settled } from '../shared/batcher';
import type { PartnerScope } from '../shared/caller';

/*
 * Products by number where Citus distributes `products`: a local table leads from numbers to partners, and a statement that names
 * partners reads their shards only.
 */

/** The partner that a product number belongs to. */
export interface Owner {
  partner_id: number;
  partner_name: string;
}

/** Finds the partners of product numbers, whether or not there are such products. */
async function findOwners(db: Database, productIds: readonly number[]): Promise<(Owner | undefined)[]> {
  const rows = await queryRows<Owner | Record<keyof Owner, null>>(
    db,
    `select partners.partner_id, partner_name
     from unnest(cast(? as bigint[])) with ordinality as asked (asked_id, place)
       left join lateral (
         select * from product_blocks where first_id <= asked_id order by first_id desc limit 1
       ) as block on last_id >= asked_id
       left join partners on partners.partner_id = block.partner_id
     order by place`,
    [productIds as number[]],
    true,
  );
  return rows.map((row) => (row.partner_id === null ? undefined : row));
}

/** Finds the partner that a product number belongs to in a scope, whether or not there is such a product. */
export async function findOwner(
  db: Database,
  productId: number,
  scope: PartnerScope,
): Promise<Owner | undefined> {
  const [owner] = await findOwners(db, [productId]);
  return owner && (scope === null || scope === owner.partner_name) ? owner : undefined;
}

/**
 * Reads products by number, with their partners. Each partner whose node is lost has that error for its products.
 * @param columns - contains `product_id` and `partner_id`
 */
export async function readByNumber<Row extends { product_id: number; partner_id: number }>(
  db: Database,
  columns: string,
  productIds: readonly number[],
): Promise<Map<number, Settled<Row & Owner>>> {
  const owners = await findOwners(db, productIds);
  const idsOf = new Map<number, number[]>();
  const names = new Map<number, string>();
  owners.forEach((owner, at) => {
    if (!owner) return;
    idsOf.set(owner.partner_id, [...(idsOf.get(owner.partner_id) ?? []), productIds[at]!]);
    names.set(owner.partner_id, owner.partner_name);
  });
  const found = new Map<number, Settled<Row & Owner>>();
  const note = (rows: Row[]) => {
    for (const row of rows) {
      const partner_name = names.get(row.partner_id)!;
      found.set(row.product_id, { result: { ...row, partner_name } });
    }
  };
  const read = async (partnerIds: number[]): Promise<void> => {
    const ids = partnerIds.flatMap((partnerId) => idsOf.get(partnerId)!);
    try {
      note(await readOfPartners<Row>(db, columns, partnerIds, ids));
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
): Promise<Row[]> {
  if (productIds.length === 0) return [];
  // With one partner and product, Citus routes a prepared statement without planning it again.
  const condition =
    productIds.length === 1
      ? sql`partner_id = ${partnerIds[0]!} and product_id = ${productIds[0]!}`
      : sql`partner_id = any (${partnerIds}) and product_id = any (${productIds})`;
  const statement = sql`select ${raw(columns)} from products where ${condition}`;
  return queryRows<Row>(db, statement.sql, statement.bindings, productIds.length === 1);
}

/** Products of a partner for a statement that joins them with local tables. */
export interface ProductSource {
  /** An item of a `from`: the table itself or, where it is distributed, rows that were read before. */
  as(alias: string): Sql;
  /** The last number of the rows, if there may be further ones. */
  lastId?: number;
}

/**
 * Reads the products of a partner that satisfy a condition where `products` is distributed: its joins with local tables are then of
 * the coordinator alone.
 * @param first - reads the first ones by number
 */
export async function productsFor(
  db: Database,
  partnerId: number,
  condition: Sql,
  first?: number,
): Promise<ProductSource> {
  if (!(await isDistributed(db))) return { as: (alias) => raw(`products as ${alias}`) };
  const { sql: text, bindings } = sql`
    select cast(json_agg(products) as text) as rows, count(*) as count, max(product_id) as "lastId"
    from (
      select * from products where partner_id = ${partnerId} and ${condition}
      ${raw(first === undefined ? '' : `order by product_id limit ${first}`)}
    ) as products`;
  type Read = { rows: string | null; count: number; lastId: number | null };
  const [read] = await queryRows<Read>(db, text, bindings);
  const { rows, count, lastId } = read!;
  return {
    as: (alias) =>
      sql`json_populate_recordset(cast(null as products), cast(${rows ?? '[]'} as json)) as ${raw(alias)}`,
    ...(count === first && { lastId: lastId! }),
  };
}
