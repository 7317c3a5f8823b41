import type { Knex } from 'knex';
import type { PartnerScope } from '../../caller';
import { queryRows, type Database } from '../database';
import { raw, sql, type Sql } from '../sql';
import type { DistributedTables } from './distributed-tables';
import type { ProductLayout } from './layout-interface';
import { findOwner, readByNumber, readProduct, readShard, productSourceOf } from './shard-reads';
import { deleteWorkingCopy, fillWorkingCopy, writeCopyBack } from './working-copy';

/** Layout where Citus distributes `products` by partner: statements name the partner by number, and read one shard. */
export const distributedLayout = (tables: DistributedTables): ProductLayout => ({
  table: raw(tables.table),
  partnerTables: ['product_blocks', 'product_insertions', 'product_partners'],
  // The nodes of a transaction commit within milliseconds.
  readsMax: 20,
  readBefore: (products) => sql`with products as materialized (${products})`,
  choose: ({ distributed }) => distributed,

  takeWorkingCopy: (trx, fills, options) => fillWorkingCopy(trx, tables, fills, options),
  writeBack: (trx, partnerIds) => writeCopyBack(trx, tables, partnerIds),
  dropWorkingCopy: deleteWorkingCopy,
  async moveNumbers(trx, { fromId, intoId }) {
    await queryRows(trx, sql`update product_blocks set partner_id = ${intoId} where partner_id = ${fromId}`);
  },
  recordProducts,

  async ofPartner(db, partner) {
    if (!partner) return raw('true');
    type Found = { partnerId: number | null };
    const [found] = await queryRows<Found>(db, sql`select ${partner} as "partnerId"`, true);
    const { partnerId } = found!;
    return partnerId === null ? undefined : sql`partner_id = ${partnerId}`;
  },
  async isWithin(db, productId, scope) {
    const owner = await findOwner(db, productId, scope);
    return owner ? sql`partner_id = ${owner.partner_id}` : raw('false');
  },
  async partnerOfProduct(db, productId, scope) {
    return sql`cast(${await findPartner(db, productId, scope)} as bigint)`;
  },
  findByNumber: readByNumber,
  async findStart(db, productId, scope) {
    const createdAt = 'cast(created_at as text) as "afterCreatedAt"';
    const start = await readProduct<{ afterCreatedAt: string }>(db, createdAt, productId);
    return start && (scope === null || scope === start.partner_name) ? start : undefined;
  },
  productsFor: readShard,
  async productFor(db, productId, scope) {
    const owner = await findOwner(db, productId, scope);
    return owner ? readShard(db, owner.partner_id, sql`product_id = ${productId}`) : productSourceOf(null);
  },
  async productNumbers(trx, numbers) {
    // A statement writes local tables, or reads shards.
    const [found] = await queryRows<{ ids: string }>(
      trx,
      sql`select cast(coalesce(array_agg(product_id), '{}') as text) as ids from (${numbers}) as found`,
    );
    return sql`select unnest(cast(${found!.ids} as bigint[])) as product_id`;
  },
  isUnused,
});

async function findPartner(db: Database, productId: number, scope: PartnerScope): Promise<number | null> {
  const owner = await findOwner(db, productId, scope);
  if (!owner) return null;
  const { partner_id: partnerId } = owner;
  const key = sql`(partner_id, product_id) = (${partnerId}, ${productId})`;
  for (const table of ['product_versions', 'products']) {
    if ((await queryRows(db, sql`select from ${raw(table)} where ${key}`)).length > 0) return partnerId;
  }
  return null;
}

/** Records the changes of a partner's products for triggers and writers. A literal number routes the statement. */
async function recordProducts(trx: Knex.Transaction, partnerId: number): Promise<void> {
  await queryRows(trx, sql`delete from product_insertions where partner_id = ${partnerId}`);
  await queryRows(
    trx,
    sql`insert into product_insertions
     select created_at, partner_id, count(*) from products where partner_id = ${raw(partnerId)} group by created_at, partner_id`,
  );
  await queryRows(
    trx,
    sql`insert into product_horizons
     select max(created_at) from product_insertions where partner_id = ${partnerId}
     having max(created_at) > all (select created_at from product_horizons)`,
  );
  await queryRows(
    trx,
    sql`insert into product_partners (partner_id) values (${raw(partnerId)}) on conflict do nothing`,
  );
}

/** Looks for products of each feed in the shard of its partner. */
async function isUnused(trx: Knex.Transaction, feeds: Sql): Promise<Sql> {
  const used: number[] = [];
  for (const feed of await queryRows<{ partner_id: number; feed_id: number }>(trx, feeds)) {
    const { partner_id: partnerId, feed_id: feedId } = feed;
    const statement = sql`select from products where partner_id = ${partnerId} and feed_id = ${feedId} limit 1`;
    if ((await queryRows(trx, statement)).length > 0) used.push(feedId);
  }
  return sql`feeds.feed_id <> all (cast(${used} as bigint[]))`;
}
