import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import type { Log } from '../../shared/log';
import { ConfigError } from '../../shared/settings';
import { tryShortLock, withShortLock } from '../../../migrations/short-lock';
import type { Database } from '../database';
import { listDependents, readDefinition, setOwner, type TableDefinition } from '../distribution/definition';
import {
  applyChanges,
  applyChangesWithin,
  asOwner,
  copyProducts,
  createCopy,
  createIndexes,
  definitionText,
  logChanges,
  readCopyState,
  waitForTransactions,
  type CopyContext,
  type CopyCommit,
} from './copy';
import { logFunction, replaceProducts } from './replace';

export const partitionsMax = 256;

/** Products of a batch: a transaction of about 0.1 s. */
const batchSize = 10_000;

/** Pause between attempts to lock `products`. */
const pauseMilliseconds = 400;

/** Changes that may be applied under the lock. */
const lastChangesMax = 1_000;

/** Key of the advisory lock of a partitioning. Not that of migrations: services must start meanwhile. */
const partitionLock = 0x70617274;

interface Options {
  log: Log;
  /** Aborts between two steps; the next call continues. */
  signal: AbortSignal;
  /** Products of a batch, for tests. */
  batchSize?: number;
}

/**
 * Partitions `products` by hash of the partner into a number of partitions, or into none with 0. Reads and writes go on.
 *
 * Copies the table in batches, while triggers log changes, and replaces it under a lock of milliseconds. Continues an
 * interrupted copy into the same number; the present number discards one.
 * @throws ConfigError when the operator must do something first
 */
export async function partitionProducts(db: Database, partitions: number, options: Options): Promise<void> {
  // Holds the lock for the whole time, without a snapshot.
  await db.transaction(async (lock) => {
    const { rows } = await lock.raw<{ rows: [{ taken: boolean }] }>(
      'select pg_try_advisory_xact_lock(?) as taken',
      [partitionLock],
    );
    if (!rows[0].taken)
      throw new ConfigError('Another process is partitioning the products: wait for its end.');
    await lock.raw('set local idle_in_transaction_session_timeout = 0');
    await partitionAlone(db, partitions, options);
  });
}

async function partitionAlone(
  db: Database,
  partitions: number,
  { log, signal, batchSize: size = batchSize }: Options,
): Promise<void> {
  const table = await readDefinition(db);
  await requireOwner(db, table);
  const context: CopyContext = { db, table, log, signal };
  await dropReplaced(context);
  const isDone = table.partitions === partitions && (partitions === 0 || table.is_by_partner);
  const unfinished = await readCopyState(db);
  if (unfinished && (isDone || unfinished.definition !== definitionText(table))) {
    await discardCopy(context);
    log.info({ partitions: unfinished.partitions }, 'unfinished copy of products discarded');
  } else if (unfinished && unfinished.partitions !== partitions) {
    throw new ConfigError(
      `A copy of the products into ${unfinished.partitions} partitions is unfinished: ` +
        `continue it with --partition ${unfinished.partitions}, or discard it with --partition ${table.partitions}.`,
    );
  }
  if (isDone) {
    log.info({ partitions }, 'products have that number of partitions');
    return;
  }
  await requireNoDependents(db);
  await requireLocks(db, table, partitions);
  if (!(await readCopyState(db))) await createCopy(context, partitions);
  await logChanges(context);
  await replace(context, partitions, size);
  await dropReplaced(context);
  log.info({ partitions }, 'products partitioned');
}

/** Copies all products, and creates the indexes. Begins again after a truncate. */
async function fillCopy(context: CopyContext, partitions: number, size: number): Promise<CopyCommit> {
  const { db, log } = context;
  for (;;) {
    if (!(await readCopyState(db))!.is_copied) await copyProducts(context, size);
    if (!(await applyChanges(context))) continue;
    await createIndexes(context, partitions);
    await db.raw('vacuum (analyze) products_copy');
    log.info('indexes of the copy created');
    if (!(await applyChanges(context))) continue;
    const commit = await applyChanges(context, { verify: true });
    if (!commit) continue;
    log.info('copy of products verified');
    return commit;
  }
}

/** Replaces the table once few changes remain and it can be locked within 100 ms. */
async function replace(context: CopyContext, partitions: number, size: number): Promise<void> {
  const { db, table, log, signal } = context;
  for (let commit = await fillCopy(context, partitions, size); ; signal.throwIfAborted()) {
    await waitForTransactions(context, commit);
    let locked = 0;
    const outcome = await tryShortLock(db, async (trx) => {
      await trx.raw(`${setOwner(table)}; lock table products, products_copy in access exclusive mode`);
      locked = performance.now();
      if (await hasManyChanges(trx)) return 'many changes';
      if (!(await applyChangesWithin(trx))) return 'truncated';
      await requireSameDefinition(trx, table);
      await replaceProducts(trx, table);
      return 'replaced';
    });
    if (outcome === 'replaced') {
      const milliseconds = Math.round(performance.now() - locked);
      return log.info({ milliseconds }, 'products replaced by the copy');
    }
    if (outcome === 'busy') await sleep(pauseMilliseconds, undefined, { signal });
    const isApplied = outcome !== 'truncated' && (await applyChanges(context));
    if (!isApplied) commit = await fillCopy(context, partitions, size);
  }
}

async function hasManyChanges(trx: Knex.Transaction): Promise<boolean> {
  const { rows } = await trx.raw<{ rows: unknown[] }>('select from products_copy_changes offset ? limit 1', [
    lastChangesMax,
  ]);
  return rows.length > 0;
}

async function requireSameDefinition(trx: Knex.Transaction, table: TableDefinition): Promise<void> {
  if (definitionText(await readDefinition(trx)) === definitionText(table)) return;
  throw new ConfigError('The table products was altered meanwhile: repeat the command, which begins again.');
}

async function requireOwner(db: Database, { owner }: TableDefinition): Promise<void> {
  const { rows } = await db.raw<{ rows: [{ is_member: boolean; account: string }] }>(
    `select pg_has_role(relowner, 'member') as is_member, current_user as account
     from pg_class where oid = cast('products' as regclass)`,
  );
  if (rows[0].is_member) return;
  throw new ConfigError(
    `The account ${rows[0].account} does not own the table products: use ${owner}, which does, in DATABASE_URL.`,
  );
}

async function requireNoDependents(db: Database): Promise<void> {
  const dependents = await listDependents(db);
  if (dependents.length === 0) return;
  throw new ConfigError(
    `These depend on the table products, and would stay with the old one: ${dependents.join(', ')}. ` +
      'Drop them first, and create them again afterwards.',
  );
}

/**
 * Requires room for the locks of a statement that names no partner: it locks each partition and its indexes.
 *
 * The server has room for twice `max_locks_per_transaction` of all connections.
 */
async function requireLocks(db: Database, { indexes }: TableDefinition, partitions: number): Promise<void> {
  const required = Math.ceil((partitions * (1 + indexes.length)) / 2);
  const { rows } = await db.raw<{ rows: [{ present: number }] }>(
    "select cast(current_setting('max_locks_per_transaction') as integer) as present",
  );
  if (rows[0].present >= required) return;
  throw new ConfigError(
    `${partitions} partitions need max_locks_per_transaction = ${required} or more in PostgreSQL; it is ` +
      `${rows[0].present}. Set it and restart PostgreSQL, or use fewer partitions.`,
  );
}

/** Drops the table that was replaced, also one that an interrupted call has left. */
async function dropReplaced(context: CopyContext): Promise<void> {
  await asOwner(context, (trx) => trx.raw('drop table if exists products_replaced'));
}

async function discardCopy({ db, table }: CopyContext): Promise<void> {
  await withShortLock(
    db,
    `
    ${setOwner(table)};
    drop function if exists ${logFunction}() cascade;
    drop table products_copy, products_copy_changes, products_copy_state;
  `,
  );
}
