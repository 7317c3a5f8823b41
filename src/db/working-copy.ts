import type { Knex } from 'knex';
import { productLayout, type ProductLayout } from './layout';

/*
 * Where Citus distributes `products`, a transaction writes products in a working copy: a temporary table of this name, which
 * hides the distributed one. It has the products of a partner that the work can touch, and the triggers of a local `products`.
 * At the end, what has changed is written back, to the shard of the partner. The caller holds the lock of the partner, or that of
 * its only product.
 *
 * Statements name the partner by number: so they concern one shard, and no other node.
 */

/** New products have provisional numbers until they are written back, from this one on. */
const provisionalFrom = 2 ** 52;

/**
 * Number of updates up to which a statement contains the product numbers: its join is then small, whatever statistics of the
 * shard say.
 */
const namedUpdatesMax = 1_000;

/** Number of keys up to which each is looked up; beyond, all products of the partner are read. */
const lookUpsMax = 50_000;

/** Copies products into a working copy. */
type Fill = (trx: Knex.Transaction, layout: ProductLayout) => Promise<void>;

/**
 * Creates and fills the working copy of products, and replaces one that is there. Does nothing where `products` is local.
 * @param isWritten - whether products are changed in it: with triggers, for `writeBack`
 */
export async function takeWorkingCopy(
  trx: Knex.Transaction,
  fills: readonly Fill[],
  { isWritten = true } = {},
): Promise<void> {
  const layout = await productLayout(trx);
  if (!layout.isDistributed) return;
  await trx.raw(`
    drop table if exists pg_temp.products, pg_temp.changed_products_of_copy;
    create temporary table products (
      like ${layout.localTable} including defaults including constraints including identity including storage,
      stored_version xid,
      primary key (partner_id, product_id)
    ) on commit drop;
    create unique index on pg_temp.products (partner_id, sku);
    alter table pg_temp.products alter product_id restart with ${provisionalFrom}
  `);
  for (const fill of fills) await fill(trx, layout);
  await trx.raw(`analyze pg_temp.products; ${isWritten ? watchSql(layout) : ''} discard plans`);
}

/** Creates the triggers, after the copy: what is copied has not changed. */
const watchSql = ({ triggers }: ProductLayout) => `
  create temporary table changed_products_of_copy (
    partner_id bigint, product_id bigint, is_stored boolean not null,
    primary key (partner_id, product_id)
  ) on commit drop;
  ${triggers.map((trigger) => `${trigger};`).join('\n')}
  create trigger products_noted_update after update on pg_temp.products
    referencing old table as changed_from new table as changed_to for each statement execute function note_working_change();
  create trigger products_noted_delete after delete on pg_temp.products
    referencing old table as changed_from for each statement execute function note_working_change();
`;

/** Drops the working copy, and what was changed in it. Does nothing without one. */
export async function dropWorkingCopy(trx: Knex.Transaction): Promise<void> {
  if (!(await productLayout(trx)).isDistributed) return;
  await trx.raw('drop table if exists pg_temp.products, pg_temp.changed_products_of_copy; discard plans');
}

/** Copies the products of a partner that satisfy a condition, which has no bindings. */
export const copyWhere =
  (partnerId: number, condition: string): Fill =>
  async (trx, { table }) => {
    await trx.raw(
      `insert into pg_temp.products select products.*, products.xmin from ${table} as products
       where products.partner_id = ${partnerId} and ${condition} on conflict do nothing`,
    );
  };

/** Copies the first products of a partner by number. */
export const copyFirst =
  (partnerId: number, limit: number): Fill =>
  async (trx, { table }) => {
    await trx.raw(
      `insert into pg_temp.products select products.*, products.xmin from ${table} as products where partner_id = ${partnerId} order by product_id limit ${limit}`,
    );
  };

/**
 * Copies the products of a partner whose key a query over local tables returns.
 * @param key - the column: `sku` or `product_id`
 */
export const copyByKey =
  (partnerId: number, key: 'sku' | 'product_id', keysSql: string): Fill =>
  async (trx, { table }) => {
    const { rows } = await trx.raw<{ rows: [{ count: number }] }>(
      `select count(*) as count from (select from (${keysSql}) as keys limit ${lookUpsMax + 1}) as first_keys`,
    );
    const [{ count }] = rows;
    if (count === 0) return;
    const copySql = (keys: string) => `
      insert into pg_temp.products select products.*, products.xmin from ${table} as products where partner_id = ${partnerId} and ${key} ${keys}
      on conflict do nothing`;
    if (count > lookUpsMax) await withoutNestedLoops(trx, () => trx.raw(copySql(`in (${keysSql})`)));
    else
      await trx.raw(
        `do $do$ begin execute $sql$${copySql('= any ($1)')}$sql$ using array(${keysSql}); end $do$`,
      );
  };

/** Copies the products of a partner that satisfy a condition, and whose sku is not in a query over local tables. */
export const copyUnnamed =
  (partnerId: number, condition: string, skusSql: string): Fill =>
  async (trx, { table }) => {
    await withoutNestedLoops(trx, () =>
      trx.raw(
        `insert into pg_temp.products
         select products.*, products.xmin from ${table} as products left join (${skusSql}) as named on named.sku = products.sku
         where products.partner_id = ${partnerId} and ${condition} and named.sku is null
         on conflict do nothing`,
      ),
    );
  };

/**
 * Runs a statement that joins products of one shard with rows of the coordinator, whose number the shard does not know: a nested
 * loop of many rows may not end.
 */
async function withoutNestedLoops<T>(trx: Knex.Transaction, work: () => PromiseLike<T>): Promise<T> {
  // Citus sends the whole text of a batch: each of these is a statement of its own.
  await trx.raw("set local citus.propagate_set_commands = 'local'");
  await trx.raw('set local enable_nestloop = off');
  const result = await work();
  await trx.raw('set local enable_nestloop to default');
  await trx.raw("set local citus.propagate_set_commands = 'none'");
  return result;
}

interface CopyChanges {
  deleted: number;
  updated: number;
  /** New products. */
  inserted: number;
  /** Products that come from another partner. */
  moved: number;
}

/** Numbers of changes of a partner's products in the working copy. */
const changesSql = `
  select count(*) filter (where is_stored and products.product_id is null) as deleted,
    count(*) filter (where is_stored and products.product_id is not null) as updated,
    count(*) filter (where not is_stored and products.product_id is not null) as moved,
    (select count(*) from pg_temp.products where partner_id = :partnerId and product_id >= ${provisionalFrom}) as inserted
  from pg_temp.changed_products_of_copy as changed left join pg_temp.products using (partner_id, product_id)
  where changed.partner_id = :partnerId and changed.product_id < ${provisionalFrom}`;

/**
 * Writes the changes in the working copy to the distributed table, gives new products their numbers, and drops the copy. Does
 * nothing where `products` is local. The triggers have fired before.
 * @param partnerIds - the partners whose products are in the copy
 * @throws a serialization failure when a product has been changed since it was copied
 */
export async function writeBack(trx: Knex.Transaction, partnerIds: readonly number[]): Promise<void> {
  const layout = await productLayout(trx);
  if (!layout.isDistributed) return;
  const changes: [number, CopyChanges][] = [];
  for (const partnerId of partnerIds) {
    const { rows } = await trx.raw<{ rows: [CopyChanges] }>(changesSql, { partnerId });
    changes.push([partnerId, rows[0]]);
  }
  // In this order: a product may go from one partner to another.
  for (const [partnerId, { deleted }] of changes) {
    if (deleted > 0) await trx.raw(checked(deleteSql(layout, partnerId), deletedIdsSql(partnerId)));
  }
  for (const [partnerId, { updated }] of changes) {
    if (updated === 0) continue;
    const statement = checked(updateSql(layout, partnerId, updated), updatedIdsSql(partnerId));
    if (updated <= namedUpdatesMax) await trx.raw(statement);
    else await withoutNestedLoops(trx, () => trx.raw(statement));
  }
  for (const [partnerId, { deleted, updated, inserted, moved }] of changes) {
    if (deleted + updated + inserted + moved === 0) continue;
    const firstId = inserted === 0 ? 0 : await drawNumbers(trx, partnerId, inserted);
    // Also without rows: its start has Citus commit in two phases, so that a crash leaves all of the transaction, or nothing.
    await trx.raw(insertSql(layout), { partnerId, firstId });
    if (inserted + moved > 0) {
      await trx.raw(insertionsSql, { partnerId });
      await trx.raw(`insert into product_partners (partner_id) values (${partnerId}) on conflict do nothing`);
    }
  }
  await dropWorkingCopy(trx);
}

/** Draws consecutive product numbers. @returns the first one */
async function drawNumbers(trx: Knex.Transaction, partnerId: number, count: number): Promise<number> {
  const { rows } = await trx.raw<{ rows: [{ firstId: number }] }>(
    'select draw_product_numbers(?, ?) as "firstId"',
    [partnerId, count],
  );
  return rows[0].firstId;
}

const idsSql = (partnerId: number, condition: string) => `
  select product_id from pg_temp.changed_products_of_copy as changed
  where partner_id = ${partnerId} and is_stored and product_id < ${provisionalFrom} and ${condition} exists (
    select from pg_temp.products
    where (products.partner_id, products.product_id) = (changed.partner_id, changed.product_id)
  )`;
const deletedIdsSql = (partnerId: number) => idsSql(partnerId, 'not');
const updatedIdsSql = (partnerId: number) => idsSql(partnerId, '');

/** Executes a statement with numbers as `$1`, and fails unless it writes as many rows. */
const checked = (statement: string, ids: string) => `
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

const deleteSql = ({ table }: ProductLayout, partnerId: number) =>
  `delete from ${table} where partner_id = ${partnerId} and product_id = any ($1)`;

/** Updates products that are as they were copied, in the same version of their rows. */
function updateSql({ table, columns }: ProductLayout, partnerId: number, updated: number): string {
  const assigned = columns.filter((column) => !['partner_id', 'product_id'].includes(column));
  return `
    with changed as materialized (
      select products.*
      from pg_temp.products join pg_temp.changed_products_of_copy as copied using (partner_id, product_id)
      where partner_id = ${partnerId} and is_stored and product_id < ${provisionalFrom}
    )
    update ${table} as stored set ${assigned.map((column) => `${column} = changed.${column}`).join(', ')}
    from changed
    where stored.partner_id = ${partnerId} and stored.product_id = changed.product_id
      and stored.xmin = changed.stored_version
      ${updated <= namedUpdatesMax ? 'and stored.product_id = any ($1)' : 'and $1 is not null'}`;
}

const isNewSql = `product_id >= ${provisionalFrom}`;

/** Products of a partner in the working copy that the distributed table does not have as its. */
const addedSql = `
  from pg_temp.products as added
  where partner_id = :partnerId and (${isNewSql} or exists (
    select from pg_temp.changed_products_of_copy as changed
    where (changed.partner_id, changed.product_id) = (added.partner_id, added.product_id) and not is_stored
  ))`;

const insertionsSql = `
  insert into product_insertions
  select created_at, partner_id, count(*) ${addedSql} group by created_at, partner_id`;

/** Inserts new products, in the order of their provisional numbers, and those that come from another partner. */
function insertSql({ table, columns }: ProductLayout): string {
  const value = (column: string) =>
    column === 'product_id'
      ? `case when ${isNewSql} then :firstId - 1 + row_number() over (partition by ${isNewSql} order by product_id)
           else product_id end`
      : column;
  return `
    insert into ${table} (${columns.join(', ')})
    select ${columns.map(value).join(', ')} ${addedSql} order by added.product_id`;
}
