import type { Knex } from 'knex';
import { queryRows } from '../database';
import { listOf, raw, sql, type Sql } from '../sql';
import { queryWithoutNestedLoops } from './copy-products';
import type { DistributedTables } from './distributed-tables';
import type { Fill } from './layout-interface';

/*
 * Where Citus distributes `products`, a transaction writes products in a working copy: a temporary table of this name, which
 * hides the distributed one. It contains the products of a partner that the work can touch, and has the triggers of a local
 * `products`. At the end, the changes are written back to the shard of the partner. The caller has the lock of the partner, or of
 * its only product. Statements on shards name the partner by a literal number: so they concern only its shard.
 */

/** First provisional number: new products have provisional numbers until they are written back. */
const provisionalFrom = raw(2 ** 52);

/**
 * Number of updates up to which a statement contains the product numbers: its join is then small, independently of the statistics of
 * the shard.
 */
const namedUpdatesMax = 1_000;

export async function fillWorkingCopy(
  trx: Knex.Transaction,
  tables: DistributedTables,
  fills: readonly Fill[],
  { isWritten = true } = {},
): Promise<void> {
  await queryRows(
    trx,
    sql`
    drop table if exists pg_temp.products, pg_temp.changed_products_of_copy;
    create temporary table products (
      like ${raw(tables.localTable)} including defaults including constraints including identity including storage,
      stored_version xid,
      primary key (partner_id, product_id)
    ) on commit drop;
    create unique index on pg_temp.products (partner_id, sku);
    create index on pg_temp.products (product_id);
    alter table pg_temp.products alter product_id restart with ${provisionalFrom}
  `,
  );
  for (const fill of fills) await fill(trx, raw(tables.table));
  await queryRows(
    trx,
    sql`analyze pg_temp.products; ${isWritten ? watchSql(tables) : raw('')} discard plans`,
  );
}

/** Creates the triggers, after the copy: they must not see the copied rows as changes. */
const watchSql = ({ triggers }: DistributedTables) => sql`
  create temporary table changed_products_of_copy (
    partner_id bigint, product_id bigint, is_stored boolean not null,
    primary key (partner_id, product_id)
  ) on commit drop;
  ${raw(triggers.map((trigger) => `${trigger};`).join('\n'))}
  create trigger products_noted_update after update on pg_temp.products
    referencing old table as changed_from new table as changed_to for each statement execute function note_working_change();
  create trigger products_noted_delete after delete on pg_temp.products
    referencing old table as changed_from for each statement execute function note_working_change();
`;

export async function deleteWorkingCopy(trx: Knex.Transaction): Promise<void> {
  await queryRows(
    trx,
    raw('drop table if exists pg_temp.products, pg_temp.changed_products_of_copy; discard plans'),
  );
}

interface CopyChanges {
  deleted: number;
  updated: number;
  inserted: number;
  /** Products that come from another partner. */
  moved: number;
}

/** Numbers of changes of a partner's products in the working copy. */
const changesSql = (partnerId: number) => sql`
  select count(*) filter (where is_stored and products.product_id is null) as deleted,
    count(*) filter (where is_stored and products.product_id is not null) as updated,
    count(*) filter (where not is_stored and products.product_id is not null) as moved,
    (select count(*) from pg_temp.products where partner_id = ${partnerId} and product_id >= ${provisionalFrom}) as inserted
  from pg_temp.changed_products_of_copy as changed left join pg_temp.products using (partner_id, product_id)
  where changed.partner_id = ${partnerId} and changed.product_id < ${provisionalFrom}`;

/**
 * Writes the changes in the working copy to the distributed table, and drops the copy. New products get their numbers. The triggers
 * have fired before.
 * @param partnerIds - the partners whose products are in the copy
 * @throws a serialization failure when a product has been changed since it was copied
 */
export async function writeCopyBack(
  trx: Knex.Transaction,
  tables: DistributedTables,
  partnerIds: readonly number[],
): Promise<void> {
  const changes: [number, CopyChanges][] = [];
  for (const partnerId of partnerIds) {
    const [counts] = await queryRows<CopyChanges>(trx, changesSql(partnerId));
    changes.push([partnerId, counts!]);
  }
  // In this order: a product may move from one partner to another.
  for (const [partnerId, { deleted }] of changes) {
    if (deleted > 0) await queryRows(trx, checked(deleteSql(tables, partnerId), idsSql(partnerId, 'not')));
  }
  for (const [partnerId, { updated }] of changes) {
    if (updated === 0) continue;
    const statement = checked(updateSql(tables, partnerId, updated), idsSql(partnerId, ''));
    if (updated <= namedUpdatesMax) await queryRows(trx, statement);
    else await queryWithoutNestedLoops(trx, statement);
  }
  for (const [partnerId, { deleted, updated, inserted, moved }] of changes) {
    if (deleted + updated + inserted + moved === 0) continue;
    const firstId = inserted === 0 ? 0 : await drawNumbers(trx, partnerId, inserted);
    // Also without rows: its start makes Citus commit in two phases, so that a crash leaves all of the transaction, or nothing.
    await queryRows(trx, insertSql(tables, partnerId, firstId));
    if (inserted + moved > 0) {
      await queryRows(trx, insertionsSql(partnerId));
      await queryRows(
        trx,
        sql`insert into product_partners (partner_id) values (${raw(partnerId)}) on conflict do nothing`,
      );
    }
  }
  await deleteWorkingCopy(trx);
}

/** Draws consecutive product numbers. @returns the first one */
async function drawNumbers(trx: Knex.Transaction, partnerId: number, count: number): Promise<number> {
  const [drawn] = await queryRows<{ firstId: number }>(
    trx,
    sql`select draw_product_numbers(${partnerId}, ${count}) as "firstId"`,
  );
  return drawn!.firstId;
}

/** Numbers of stored products that were deleted, or else updated. */
const idsSql = (partnerId: number, not: 'not' | '') => sql`
  select product_id from pg_temp.changed_products_of_copy as changed
  where partner_id = ${raw(partnerId)} and is_stored and product_id < ${provisionalFrom} and ${raw(not)} exists (
    select from pg_temp.products
    where (products.partner_id, products.product_id) = (changed.partner_id, changed.product_id)
  )`;

/** Executes a statement with numbers as `$1`, and fails unless it writes the same number of rows. */
const checked = (statement: Sql, ids: Sql) => sql`
  do $do$
  declare
    ids bigint[] := array(${ids});
    written bigint;
  begin
    execute $sql$${statement}$sql$ using ids;
    get diagnostics written = row_count;
    if written <> cardinality(ids) then
      raise exception 'a product has been changed since it was copied' using errcode = 'serialization_failure';
    end if;
  end $do$`;

const deleteSql = ({ table }: DistributedTables, partnerId: number) =>
  raw(`delete from ${table} where partner_id = ${partnerId} and product_id = any ($1)`);

/** Updates products whose row version is still the copied one. */
function updateSql({ table, columns }: DistributedTables, partnerId: number, updated: number): Sql {
  const assigned = columns.filter((column) => !['partner_id', 'product_id'].includes(column));
  return sql`
    with changed as materialized (
      select products.*
      from pg_temp.products join pg_temp.changed_products_of_copy as copied using (partner_id, product_id)
      where partner_id = ${raw(partnerId)} and is_stored and product_id < ${provisionalFrom}
    )
    update ${raw(table)} as stored set ${raw(assigned.map((column) => `${column} = changed.${column}`).join(', '))}
    from changed
    where stored.partner_id = ${raw(partnerId)} and stored.product_id = changed.product_id
      and stored.xmin = changed.stored_version
      ${raw(updated <= namedUpdatesMax ? 'and stored.product_id = any ($1)' : 'and $1 is not null')}`;
}

const isNew = sql`product_id >= ${provisionalFrom}`;

/** Products of a partner in the working copy that do not belong to it in the distributed table. */
const addedSql = (partnerId: number) => sql`
  from pg_temp.products as added
  where partner_id = ${partnerId} and (${isNew} or exists (
    select from pg_temp.changed_products_of_copy as changed
    where (changed.partner_id, changed.product_id) = (added.partner_id, added.product_id) and not is_stored
  ))`;

const insertionsSql = (partnerId: number) => sql`
  insert into product_insertions
  select created_at, partner_id, count(*) ${addedSql(partnerId)} group by created_at, partner_id`;

/** Inserts new products, in the order of their provisional numbers, and products of other partners. */
function insertSql({ table, columns }: DistributedTables, partnerId: number, firstId: number): Sql {
  const number = sql`case when ${isNew} then ${firstId} - 1 + row_number() over (partition by ${isNew} order by product_id)
    else product_id end`;
  return sql`
    insert into ${raw(table)} (${raw(columns.join(', '))})
    select ${listOf(columns.map((column) => (column === 'product_id' ? number : raw(column))))}
    ${addedSql(partnerId)} order by added.product_id`;
}
