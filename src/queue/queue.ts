import { setTimeout as sleep } from 'node:timers/promises';
import { Logger, runMigrations, type SharedOptions, type WorkerPool } from 'graphile-worker';
import { migrations } from 'graphile-worker/dist/generated/sql';
import { Pool, type ClientConfig, type DatabaseError } from 'pg';
import { clientConfig, type Database, type DatabaseAddress } from '../db/database';
import { inTransaction } from '../db/transaction';
import { limits } from '../limits';
import type { Log } from '../log';

/** SQLSTATE. */
const lockNotAvailable = '55P03';

/** What the queue has to say, in our log. */
export function queueLogger(log: Log): Logger {
  return new Logger((scope) => (level: string, message, meta) => {
    const line = { queue: scope, err: meta?.error };
    // It calls the coming and going of its workers and jobs information.
    if (level === 'error') log.error(line, message);
    else if (level === 'warning') log.warn(line, message);
    else log.debug(line, message);
  });
}

/** A pool as the queue wants it: it makes its own statements. The caller ends it. */
export function openQueuePool(address: DatabaseAddress, connectionsMax: number, log: Log): Pool {
  const config = { ...clientConfig(address, 'queue'), query_timeout: limits.databaseQueryMilliseconds };
  const lost = (error: Error) => log.warn({ err: error }, 'a connection of the queue was lost');
  return openPool(config, connectionsMax, lost);
}

/** Whoever uses a connection learns of its end by what it asks for; without listeners, it would end the process. */
function openPool(config: ClientConfig, connectionsMax: number, onLost: (error: Error) => void): Pool {
  const pool = new Pool({ ...config, max: connectionsMax });
  pool.on('error', onLost).on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/**
 * Nothing of it outlives a transaction: a pooler in transaction mode may stand before the database. What is done is noted
 * in batches, without a delay, because only those are waited for at a stop, and only their failure does not end the process.
 */
export const queueOptions = {
  noPreparedStatements: true,
  preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
} satisfies SharedOptions;

/**
 * Works on the queue until it is stopped. A pool of workers ends by itself when it could not note what it has done, for
 * example because the database went away: another one then takes its place.
 * @param start - starts a pool of workers
 * @returns what stops it, when all that goes on has ended. @throws whatever goes wrong with that
 */
export function keepWorking(start: () => WorkerPool, log: Log): { stop: () => Promise<void> } {
  let stopping = false;
  let workers = start();
  const goOn = async () => {
    for (;;) {
      const reason = await workers.promise.then(
        () => undefined,
        (error: unknown) => error,
      );
      if (!stopping) await sleep(limits.queuePollMilliseconds, undefined, { ref: false });
      if (stopping) return;
      log.warn({ err: reason }, 'work on the queue has ended by itself; it begins again');
      workers = start();
    }
  };
  void goOn();
  return {
    stop: async () => {
      stopping = true;
      await workers.gracefulShutdown();
    },
  };
}

/** The version of its own schema that the queue needs: the number of its last step. */
export const queueVersion = Math.max(...Object.keys(migrations).map((file) => parseInt(file, 10)));

/** Brings the queue's own schema up to date. For one process at a time. */
export async function migrateQueue(address: DatabaseAddress): Promise<void> {
  const pgPool = openPool(clientConfig(address, 'migration'), 1, () => undefined);
  try {
    await runMigrations({ ...queueOptions, pgPool, logger: new Logger(() => () => undefined) });
    await pgPool.query(reuseNumbersSql);
  } finally {
    await pgPool.end();
  }
}

/**
 * Putting something into the queue draws a number for its task and one for its lane, also when these are there already, and
 * there are only 2,147,483,647 of each: a hundred events a second use them up within a year. Then they begin again; a new lane
 * that draws one which is in use does not come to be, and what is put there, this once, waits for no other.
 */
const reuseNumbersSql = `
  do $$
  declare
    numbers regclass;
  begin
    for numbers in
      select seqrelid from pg_sequence
      where not seqcycle and seqrelid in (
        cast(pg_get_serial_sequence('graphile_worker._private_tasks', 'id') as regclass),
        cast(pg_get_serial_sequence('graphile_worker._private_job_queues', 'id') as regclass)
      )
    loop
      execute format('alter sequence %s cycle', numbers);
    end loop;
  end $$`;

/**
 * Removes the lanes of the queue in which nothing waits. Not while somebody puts something there, whose lane could go before
 * what is put there shows: nobody would ever take it. It waits for nobody, so that nobody has to wait for that either.
 * @returns whether it was done
 */
export async function removeIdleLanes(db: Database): Promise<boolean> {
  try {
    await inTransaction(db, 'request', async (trx) => {
      await trx.raw(`set local statement_timeout = ${limits.idleLanesLockMilliseconds}`);
      await trx.raw('lock table graphile_worker._private_job_queues in exclusive mode nowait');
      await trx.raw(
        `delete from graphile_worker._private_job_queues as lane
         where locked_at is null and not exists (
           select from graphile_worker._private_jobs where job_queue_id = lane.id
         )`,
      );
    });
    return true;
  } catch (error) {
    if ((error as DatabaseError).code === lockNotAvailable) return false;
    throw error;
  }
}
