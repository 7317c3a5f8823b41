import { randomUUID } from 'node:crypto';
import type { Knex } from 'knex';
import { changeRows, queryRows, type Database } from '../../base/db/database';
import { sql } from '../../base/db/sql';
import { inTransaction } from '../../base/db/transaction';
import { startPeriodicTask } from '../../base/concurrency/periodic-task';

/** Longer than a batch and the pause after it. */
const leaseSeconds = 60;

/** Runs a batch in a transaction with the lease. @throws PruneInProgress */
export type Lease = <T>(work: (trx: Knex.Transaction) => Promise<T>) => Promise<T>;

/** Another process prunes, or has just died during a prune. */
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
    const leased = await changeRows(
      trx,
      sql`update retention
       set lease_holder = ${holder}, leased_until = clock_timestamp() + ${leaseSeconds} * interval '1 second'
       where lease_holder = ${holder} or leased_until < clock_timestamp()`,
    );
    if (leased === 0) throw new PruneInProgress();
    return work(trx);
  });
}

/**
 * Holds the lease during work outside of transactions: no raw file is deleted meanwhile.
 * @throws PruneInProgress at the start, or if the lease was lost; the errors of the work
 */
export async function holdLease<T>(db: Database, work: () => Promise<T>): Promise<T> {
  const holder = randomUUID();
  const renew = () => withLease(db, holder, () => Promise.resolve());
  let failure: unknown;
  await renew();
  const renewal = startPeriodicTask({
    milliseconds: (leaseSeconds * 1000) / 4,
    startsAtOnce: false,
    run: renew,
    onError: (error) => (failure ??= error),
  });
  try {
    const result = await work();
    if (failure !== undefined) throw failure;
    return result;
  } finally {
    await renewal.stop();
    await releaseLease(db, holder, false);
  }
}

/** Releases the lease. @param isComplete - whether all expired data were removed: the next prune is then due in a day */
export async function releaseLease(db: Database, holder: string, isComplete: boolean): Promise<void> {
  await changeRows(
    db,
    sql`update retention set leased_until = '-infinity', pruned_at = case when ${isComplete} then now() else pruned_at end
     where lease_holder = ${holder}`,
  );
}

/** Returns whether the last complete prune began at least a day ago. */
export async function isPruneDue(db: Database): Promise<boolean> {
  const [row] = await queryRows<{ isDue: boolean }>(
    db,
    sql`select pruned_at < now() - interval '1 day' as "isDue" from retention`,
  );
  return row!.isDue;
}
