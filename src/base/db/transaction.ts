import type { Knex } from 'knex';
import { queryRows, type Database } from './database';
import { sql, raw } from './sql';

export const databaseTimeouts = {
  /**
   * Statement timeout of requests, then 503: ten times the slowest measured (a million products sorted without an index). In
   * a transaction, the server has the same timeout; elsewhere, the driver cancels the statement.
   */
  queryMilliseconds: 10_000,

  /** Lock timeout of requests: shorter, so that the error names the lock. */
  lockMilliseconds: 8_000,

  /** Maximum time that a transaction of a request may stay idle: its client has died or is frozen. */
  idleMilliseconds: 10_000,

  /** Statement timeout for all rows of a feed: 5 GiB beside three other runs need most of it. */
  bulkMilliseconds: 2 * 3600 * 1000,

  /** Maximum time that the transaction of a run may stay idle, for example to open the raw file with retries. */
  bulkIdleMilliseconds: 20 * 60 * 1000,
};

/** TCP keep-alive: a lost machine is detected within a minute, not two hours. */
const databaseKeepAlive = { idleSeconds: 30, intervalSeconds: 10, count: 3 };

/** Interval in which the server checks, during a statement, whether its client is connected. */
const clientCheckMilliseconds = 1_000;

/** The kind of a transaction: a request; an upload, which may stay idle; or work on all rows of a feed. */
export type TransactionKind = 'request' | 'upload' | 'bulk';

/** Returns the timeouts of a statement, a lock and an idle transaction; 0 is none. */
function timeoutsOf(kind: TransactionKind): { statement: number; lock: number; idle: number } {
  if (kind === 'bulk') {
    return {
      statement: databaseTimeouts.bulkMilliseconds,
      lock: databaseTimeouts.bulkMilliseconds,
      idle: databaseTimeouts.bulkIdleMilliseconds,
    };
  }
  return {
    statement: databaseTimeouts.queryMilliseconds,
    lock: databaseTimeouts.lockMilliseconds,
    idle: kind === 'upload' ? 0 : databaseTimeouts.idleMilliseconds,
  };
}

/**
 * Sets the timeouts of a transaction, by one cheap statement. A pooler in transaction mode refuses them at the start of a
 * connection, and the timeouts of the driver end with its process. Only servers on Linux can check for the client.
 */
async function setTimeouts(trx: Knex.Transaction, kind: TransactionKind): Promise<void> {
  const { statement, lock, idle } = timeoutsOf(kind);
  const { idleSeconds, intervalSeconds, count } = databaseKeepAlive;
  const settings = sql`
    select set_config('statement_timeout', ${String(statement)}, true), set_config('lock_timeout', ${String(lock)}, true),
      set_config('idle_in_transaction_session_timeout', ${String(idle)}, true),
      set_config('tcp_keepalives_idle', '${raw(idleSeconds)}', true),
      set_config('tcp_keepalives_interval', '${raw(intervalSeconds)}', true),
      set_config('tcp_keepalives_count', '${raw(count)}', true),
      case when version() like '%linux%' then
        set_config('client_connection_check_interval', '${raw(clientCheckMilliseconds)}', true)
      end
  `;
  await queryRows(trx, settings);
}

/**
 * Runs `work` in a transaction with timeouts: the server rolls it back when its client dies or freezes.
 * @throws errors of `work`, after a rollback
 */
export function inTransaction<T>(
  db: Database,
  kind: TransactionKind,
  work: (trx: Knex.Transaction) => Promise<T>,
): Promise<T> {
  return db.transaction(async (trx) => {
    await setTimeouts(trx, kind);
    return work(trx);
  });
}

/** Runs `work`, which only reads, in a transaction of a request with one snapshot. */
export function inSnapshot<T>(db: Database, work: (trx: Knex.Transaction) => Promise<T>): Promise<T> {
  return db.transaction(
    async (trx) => {
      await setTimeouts(trx, 'request');
      return work(trx);
    },
    { isolationLevel: 'repeatable read', readOnly: true },
  );
}

/** Begins a transaction with timeouts, which the caller ends. */
export async function beginTransaction(
  db: Database,
  kind: TransactionKind,
  isolationLevel?: 'repeatable read',
): Promise<Knex.Transaction> {
  const trx = await db.transaction(undefined, isolationLevel && { isolationLevel });
  try {
    await setTimeouts(trx, kind);
    return trx;
  } catch (error) {
    await trx.rollback().catch(() => undefined);
    throw error;
  }
}

/** Plans the statements of the transaction for few rows: parallel workers and JIT cost more than they save. */
export async function expectFewRows(trx: Knex.Transaction): Promise<void> {
  await queryRows(trx, raw('set local max_parallel_workers_per_gather = 0; set local jit = off'));
}
