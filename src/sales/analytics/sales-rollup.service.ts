import { openDatabase, type DatabaseAddress } from '../../base/db/database';
import type { Log } from '../../base/log';
import { startPeriodicTask } from '../../base/concurrency/periodic-task';
import { rollUpSales } from './sales-rollup';
import type { Verification } from './sales-verification';

/** Roll-up interval. Reading orders that are not in the sums takes 5 ms per thousand. */
const salesRollupMilliseconds = 2_000;

/**
 * Starts the periodic sales roll-up. It has a connection of its own: the first roll-up exceeds the statement timeout of
 * requests.
 */
export function startSalesRollup(address: DatabaseAddress, log: Log): { stop(): Promise<void> } {
  const db = openDatabase(address, { applicationName: 'sales rollup', connectionsMax: 1 });
  const task = startPeriodicTask({
    milliseconds: salesRollupMilliseconds,
    async run() {
      const { verification } = await rollUpSales(db, salesRollupMilliseconds);
      if (verification) report(verification, log);
    },
    onError: (error) => log.warn({ err: error }, 'sales rollup failed'),
  });
  return {
    async stop() {
      await Promise.all([task.stop(), db.destroy()]);
    },
  };
}

function report({ differences, disabledTriggers }: Verification, log: Log): void {
  if (differences.length > 0) {
    log.warn({ count: differences.length, first: differences[0] }, 'sales sums corrected');
  }
  if (disabledTriggers.length > 0) {
    const triggers = disabledTriggers.map(({ trigger }) => trigger);
    log.warn({ triggers }, 'sales triggers not enabled always, verifying each minute');
  }
}
