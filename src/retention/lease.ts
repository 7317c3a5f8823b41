import type { Knex } from 'knex';
import type { Database } from '../db/database';
import { inTransaction } from '../db/transaction';

/** Longer than a batch and the pause after it. */
const leaseSeconds = 60;

/** Runs a batch in a transaction with the lease. @throws PruneInProgress */
export type Lease = <T>(work: (trx: Knex.Transaction) => Promise<T>) => Promise<T>;

/** Another process prunes, or has just died while it did. */
export class PruneInProgress extends Error {
  constructor() {
    super('Another process is pruning now: try again in a minute.');
  }
}

/**
 * Runs a batch in a transaction that acquires or renews the lease: one process prunes at a time.
 * @param holder - a UUID of the caller
 * @throws PruneInProgress
 */
export function withLease<T>(
  db: Database,
  holder: string,
  work: (trx: Knex.Transaction) => Promise<T>,
): Promise<T> {
  return inTransaction(db, 'request', async (trx) => {
    const { rowCount } = await trx.raw<{ rowCount: number }>(
      `update retention set lease_holder = :holder, leased_until = clock_timestamp() + :leaseSeconds * interval '1 second'
       where lease_holder = :holder or leased_until < clock_timestamp()`,
      { holder, leaseSeconds },
    );
    if (rowCount === 0) throw new PruneInProgress();
    return work(trx);
  });
}

/** Releases the lease. @param isComplete - whether all that had expired was removed: the next day's work is then due */
export async function releaseLease(db: Database, holder: string, isComplete: boolean): Promise<void> {
  await db.raw(
    `update retention set leased_until = '-infinity', pruned_at = case when :isComplete then now() else pruned_at end
     where lease_holder = :holder`,
    { holder, isComplete },
  );
}

/** Returns whether the last complete prune began to be a day old. */
export async function isPruneDue(db: Database): Promise<boolean> {
  const { rows } = await db.raw<{ rows: [{ isDue: boolean }] }>(
    `select pruned_at < now() - interval '1 day' as "isDue" from retention`,
  );
  return rows[0].isDue;
}
