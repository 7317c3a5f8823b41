import type { Knex } from 'knex';
import type { Database } from './database';

/**
 * How long a request waits for one statement before it is 503: ten times the slowest that was measured (a million
 * products sorted without an index). Without it, a frozen server keeps whoever has a connection to it for ever. The
 * server is asked to give the statement up then; in a transaction, it does so by itself after the same time.
 */
export const databaseQueryMilliseconds = 10_000;

/** How long a statement of a request's transaction waits for a lock: less, so that it is known what it waited for. */
export const databaseLockMilliseconds = 8_000;

/** How long a request's transaction may stand still between two statements: its client has died, or is frozen. */
export const databaseIdleMilliseconds = 10_000;

/** How long a statement over all rows of a feed may take: 5 GiB, with three other runs beside it, need most of it. */
export const databaseBulkMilliseconds = 2 * 3600 * 1000;

/** How long the transaction of a run may stand still: all attempts to open the raw file fit into it. */
export const databaseBulkIdleMilliseconds = 20 * 60 * 1000;

/** A machine that has vanished amid a transaction is noticed within a minute, instead of PostgreSQL's two hours. */
const databaseKeepAlive = { idleSeconds: 30, intervalSeconds: 10, count: 3 };

/** How often the server looks, amid a statement, whether the client of a transaction is still there. */
const clientCheckMilliseconds = 1_000;

/**
 * What a transaction is for: a request; an upload, which it waits for between its statements for as long as that takes; or
 * work over all rows of a feed.
 */
export type TransactionKind = 'request' | 'upload' | 'bulk';

/** How long a statement may take, how long it may wait for a lock, how long the transaction may stand between statements. */
function boundsOf(kind: TransactionKind): { statement: number; lock: number; idle: number } {
  if (kind === 'bulk') {
    return {
      statement: databaseBulkMilliseconds,
      lock: databaseBulkMilliseconds,
      idle: databaseBulkIdleMilliseconds,
    };
  }
  // 0 is no limit.
  return {
    statement: databaseQueryMilliseconds,
    lock: databaseLockMilliseconds,
    idle: kind === 'upload' ? 0 : databaseIdleMilliseconds,
  };
}

/**
 * The settings hold for the transaction only, which is what a pooler in transaction mode can keep; it would refuse them
 * at the start of a connection. Each is the server's word: the limits of the driver die with its process. The last one
 * lets the server notice amid a statement, and not only after it, that its client was killed; not every system can.
 */
function boundSql(kind: TransactionKind): string {
  const { statement, lock, idle } = boundsOf(kind);
  const { idleSeconds, intervalSeconds, count } = databaseKeepAlive;
  return `
    set local statement_timeout = ${statement};
    set local lock_timeout = ${lock};
    set local idle_in_transaction_session_timeout = ${idle};
    set local tcp_keepalives_idle = ${idleSeconds};
    set local tcp_keepalives_interval = ${intervalSeconds};
    set local tcp_keepalives_count = ${count};
    do $$
    begin
      set local client_connection_check_interval = ${clientCheckMilliseconds};
    exception when invalid_parameter_value then
      null;
    end $$;
  `;
}

/**
 * Does `work` in a transaction that the server ends by itself, and undoes, when its client is gone or does not go on:
 * nobody's locks are held for ever.
 * @throws whatever `work` throws; then nothing has happened
 */
export function inTransaction<T>(
  db: Database,
  kind: TransactionKind,
  work: (trx: Knex.Transaction) => Promise<T>,
): Promise<T> {
  return db.transaction(async (trx) => {
    await trx.raw(boundSql(kind));
    return work(trx);
  });
}

/** Does `work`, which only reads, in such a transaction of a request; all of its statements see the same moment. */
export function inSnapshot<T>(db: Database, work: (trx: Knex.Transaction) => Promise<T>): Promise<T> {
  return db.transaction(
    async (trx) => {
      await trx.raw(boundSql('request'));
      return work(trx);
    },
    { isolationLevel: 'repeatable read', readOnly: true },
  );
}

/** Begins such a transaction, for a caller that rolls it back in any case. */
export async function beginTransaction(
  db: Database,
  kind: TransactionKind,
  isolationLevel?: 'repeatable read',
): Promise<Knex.Transaction> {
  const trx = await db.transaction(undefined, isolationLevel && { isolationLevel });
  try {
    await trx.raw(boundSql(kind));
    return trx;
  } catch (error) {
    await trx.rollback().catch(() => undefined);
    throw error;
  }
}

/** Does `work` with another limit to each wait for a lock. Where it throws, the transaction or savepoint must end. */
export async function withLockTimeout<T>(
  trx: Knex.Transaction,
  milliseconds: number,
  work: () => PromiseLike<T>,
): Promise<T> {
  const { rows } = await trx.raw<{ rows: [{ before: string }] }>(
    "select current_setting('lock_timeout') as before",
  );
  await trx.raw(`set local lock_timeout = ${milliseconds}`);
  const result = await work();
  await trx.raw("select set_config('lock_timeout', ?, true)", [rows[0].before]);
  return result;
}
