import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import { createFunctions, type FunctionDigests } from './create-functions';

/** Timeout of one attempt: reads and writes that come after it wait no longer. */
const lockMilliseconds = 100;
const pauseMilliseconds = 400;
const lockNotAvailable = '55P03';

/**
 * Runs statements that lock a busy table, in a transaction of their own. They would wait for a long run while everything
 * else waits behind them: so each attempt waits for 100 ms only, and is repeated until it succeeds.
 * @param functions - are created before
 */
export async function withShortLock(db: Knex, sql: string, functions?: FunctionDigests): Promise<void> {
  for (;;) {
    try {
      return await db.transaction(async (trx) => {
        await trx.raw(`set local lock_timeout = ${lockMilliseconds}`);
        if (functions) await createFunctions(trx, functions);
        await trx.raw(sql);
      });
    } catch (error) {
      if ((error as { code?: string }).code !== lockNotAvailable) throw error;
    }
    await sleep(pauseMilliseconds);
  }
}
