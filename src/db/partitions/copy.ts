import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import type { Log } from '../../shared/log';
import { withShortLock } from '../../../migrations/short-lock';
import { ConfigError } from '../../shared/settings';
import type { Database } from '../database';
import { createCopySql, createIndexSql, setOwner, type TableDefinition } from '../distribution/definition';
import { logFunction } from './replace';

/** What the steps of a copy need. */
export interface CopyContext {
  db: Database;
  table: TableDefinition;
  log: Log;
  signal: AbortSignal;
}

/** How far a copy is: the only row of `products_copy_state`. */
export interface CopyState {
  partitions: number;
  /** The definition of `products` when the copy began. */
  definition: string;
  is_copied: boolean;
}

/** A commit to `products_copy`. */
export interface CopyCommit {
  transactionId: string;
  committedAt: string;
}

const reportMilliseconds = 10_000;
const pollMilliseconds = 50;

/** Shorter waits are not logged. */
const reportedPolls = 40;

/** Runs `work` in a transaction as the owner of `products`. */
export function asOwner<T>(
  { db, table }: Pick<CopyContext, 'db' | 'table'>,
  work: (trx: Knex.Transaction) => Promise<T>,
  isolationLevel: 'read committed' | 'repeatable read' = 'read committed',
): Promise<T> {
  return db.transaction(
    async (trx) => {
      await trx.raw(setOwner(table));
      return work(trx);
    },
    { isolationLevel },
  );
}

/** Returns what must not change during a copy: all but privileges and triggers, which are read at its end. */
export const definitionText = (table: TableDefinition) => JSON.stringify(table);

/** Reads the state of an unfinished copy, if there is one. */
export async function readCopyState(db: Database): Promise<CopyState | undefined> {
  const { rows } = await db.raw<{ rows: [{ there: boolean }] }>(
    "select to_regclass('products_copy_state') is not null as there",
  );
  if (!rows[0].there) return undefined;
  return db<CopyState>('products_copy_state').first('partitions', 'definition', 'is_copied');
}

/** Creates the empty table `products_copy`, and a log for changes of `products`. */
export async function createCopy(context: CopyContext, partitions: number): Promise<void> {
  const { table } = context;
  await asOwner(context, async (trx) => {
    await trx.raw(`
      create table products_copy_state (
        is_the_only_row boolean primary key default true check (is_the_only_row),
        partitions integer not null,
        definition text not null,
        is_copied boolean not null default false,
        -- The last product that was copied.
        partner_id bigint not null default 0,
        product_id bigint not null default 0
      );
      -- Keys of changed products; null after a truncate.
      create table products_copy_changes (partner_id bigint, product_id bigint);
      ${createCopySql(table, partitions)};
    `);
    await trx('products_copy_state').insert({ partitions, definition: definitionText(table) });
  });
}

/** Logs each change of `products` from now on: the copy must begin later. Can be repeated. */
export async function logChanges({ db, table }: CopyContext): Promise<void> {
  const trigger = (name: string, event: string, rows: string) => `
    create or replace trigger products_copy_${name} after ${event} on products
      ${rows} for each statement execute function ${logFunction}();
    alter table products enable always trigger products_copy_${name};`;
  await withShortLock(
    db,
    `
    ${setOwner(table)};
    -- With the rights of its owner: a role that may change products needs none on the log.
    create or replace function ${logFunction}() returns trigger language plpgsql security definer as $$
    begin
      if tg_op = 'TRUNCATE' then
        insert into products_copy_changes values (null, null);
      else
        insert into products_copy_changes select partner_id, product_id from changed_products;
      end if;
      return null;
    end $$;
    do $$
    begin
      execute format('alter function ${logFunction}() set search_path = %I, pg_temp', current_schema());
    end $$;
    ${trigger('insert', 'insert', 'referencing new table as changed_products')}
    ${trigger('delete', 'delete', 'referencing old table as changed_products')}
    ${trigger('update_from', 'update', 'referencing old table as changed_products')}
    ${trigger('update_to', 'update', 'referencing new table as changed_products')}
    ${trigger('truncate', 'truncate', '')}
  `,
  );
}

/** Copies the products that are not copied yet, in batches by partner and number. */
export async function copyProducts(context: CopyContext, batchSize: number): Promise<void> {
  const { log, signal } = context;
  let copied = 0;
  for (let reported = Date.now(); ;) {
    signal.throwIfAborted();
    const rowCount = await asOwner(context, (trx) => copyBatch(trx, batchSize));
    copied += rowCount;
    if (rowCount < batchSize) break;
    if (Date.now() - reported < reportMilliseconds) continue;
    reported = Date.now();
    log.info({ products: copied }, 'copying products');
  }
  log.info({ products: copied }, 'products copied');
}

/**
 * Copies a batch. Changes of its products that were committed after its snapshot are in the log.
 *
 * A product that is there already was changed, and copied from the log. @returns the number of products read
 */
async function copyBatch(trx: Knex.Transaction, batchSize: number): Promise<number> {
  const { rows } = await trx.raw<{ rows: [{ products: number }] }>(
    `
    with batch as materialized (
      select products.* from products
      where (products.partner_id, products.product_id) > (
        (select partner_id from products_copy_state), (select product_id from products_copy_state)
      )
      order by products.partner_id, products.product_id
      limit :batchSize
    ), copied as (
      insert into products_copy select * from batch on conflict do nothing
    ), state as (
      update products_copy_state set partner_id = last.partner_id, product_id = last.product_id
      from (select partner_id, product_id from batch order by partner_id desc, product_id desc limit 1) as last
    )
    select count(*) as products from batch
  `,
    { batchSize },
  );
  const { products } = rows[0];
  if (products < batchSize) await trx('products_copy_state').update({ is_copied: true });
  return products;
}

/** Creates the other indexes: only now, because a sorted build costs less than each insert. */
export async function createIndexes(context: CopyContext, partitions: number): Promise<void> {
  for (const index of context.table.indexes.filter(({ primary_key }) => !primary_key)) {
    context.signal.throwIfAborted();
    await asOwner(context, (trx) => trx.raw(createIndexSql(index, partitions)));
  }
}

/**
 * Applies the logged changes, so that `products_copy` is what `products` is in one snapshot, and commits.
 * @param verify - also compares all rows
 * @returns the commit; undefined after a truncate, when the copy begins again
 * @throws ConfigError when a change was not logged
 */
export async function applyChanges(
  context: CopyContext,
  { verify = false } = {},
): Promise<CopyCommit | undefined> {
  const transactionId = await asOwner(
    context,
    async (trx) => {
      if (!(await applyChangesWithin(trx))) return undefined;
      if (verify) await verifyCopy(trx, context.table.partitions);
      const { rows } = await trx.raw<{ rows: [{ id: string }] }>(
        'select cast(pg_current_xact_id() as text) as id',
      );
      return rows[0].id;
    },
    'repeatable read',
  );
  if (transactionId === undefined) return undefined;
  const { rows } = await context.db.raw<{ rows: [{ now: string }] }>(
    'select cast(clock_timestamp() as text) as now',
  );
  return { transactionId, committedAt: rows[0].now };
}

/**
 * Applies all logged changes, in a transaction that has one snapshot, or that no writer can disturb.
 *
 * All of them at once: a part could have a sku that another product, changed in the rest, still has in the copy.
 * @returns false after a truncate, when the copy begins again
 */
export async function applyChangesWithin(trx: Knex.Transaction): Promise<boolean> {
  await trx.raw(`
    create temporary table changed_products on commit drop as select distinct partner_id, product_id from products_copy_changes;
    delete from products_copy_changes;
    analyze changed_products;
  `);
  const { rows: truncations } = await trx.raw<{ rows: unknown[] }>(
    'select from changed_products where partner_id is null',
  );
  if (truncations.length > 0) {
    await trx.raw(`
      truncate products_copy;
      update products_copy_state set is_copied = false, partner_id = 0, product_id = 0;
    `);
    return false;
  }
  await trx.raw(`
    delete from products_copy using changed_products as changed
    where (products_copy.partner_id, products_copy.product_id) = (changed.partner_id, changed.product_id);
    insert into products_copy
    select products.* from products join changed_products as changed using (partner_id, product_id);
  `);
  return true;
}

async function verifyCopy(trx: Knex.Transaction, present: number): Promise<void> {
  const sumOf = (table: string) =>
    `(select concat_ws(' ', count(*), sum(hashtextextended(cast(${table} as text), 0))) from ${table})`;
  const { rows } = await trx.raw<{ rows: [{ is_same: boolean }] }>(
    `select ${sumOf('products')} = ${sumOf('products_copy')} as is_same`,
  );
  if (rows[0].is_same) return;
  throw new ConfigError(
    'The copy differs from products: rows were changed with triggers disabled, or directly in a partition. ' +
      `Discard it with --partition ${present}, and begin again.`,
  );
}

/**
 * Waits for transactions that would keep `products` locked for long, or would not see the copied rows.
 *
 * That is: those that have lasted a second and have a lock on `products`, and those without one whose snapshot is from before
 * the commit: a snapshot does not see rows that were committed later, although their table has replaced another.
 */
export async function waitForTransactions(
  { db, log, signal }: CopyContext,
  { transactionId, committedAt }: CopyCommit,
): Promise<void> {
  for (let polls = 0; ; polls++) {
    const { rows } = await db.raw<{ rows: { pid: number }[] }>(
      `
      with locking as (
        select pid from pg_locks
        where granted and relation = cast('products' as regclass)
          and database = (select oid from pg_database where datname = current_database())
      )
      select pid from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
        and case when pid in (select pid from locking) then xact_start < clock_timestamp() - interval '1 s'
          -- The start is hidden from accounts without the right to see it.
          else age(backend_xmin) >= age(cast(cast(:transactionId as xid8) as xid))
            and coalesce(xact_start < cast(:committedAt as timestamptz), true) end
    `,
      { transactionId, committedAt },
    );
    if (rows.length === 0) return;
    if (polls === reportedPolls) log.info({ pids: rows.map(({ pid }) => pid) }, 'waiting for transactions');
    await sleep(pollMilliseconds, undefined, { signal });
  }
}
