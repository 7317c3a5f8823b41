import { measureSalesLag } from '../../sales/analytics/sales-watermark';
import type { Database } from '../../base/db/database';
import type { Log } from '../../base/log';
import { measureQueue } from '../../runs/queue/queue-state.repository';
import { measureSearchLag } from '../../catalog/products/search-index';
import { measureFetches } from '../../intake/sources/claims.repository';
import { countFailing } from '../../intake/sources/sources.repository';
import { countStalePartners } from '../../intake/sources/stale-partners.repository';
import { startPeriodicTask } from '../../base/concurrency/periodic-task';
import type { Backlog } from '../telemetry/metrics';
import { measureDeliveries } from '../../webhooks/deliveries.repository';

/** Prometheus usually scrapes every 15 s; one statement counts all deliveries. */
const measureMilliseconds = 5_000;

const measures: { [Name in keyof Backlog]: (db: Database) => Promise<Backlog[Name]> } = {
  queue: measureQueue,
  webhookDeliveries: measureDeliveries,
  fetches: measureFetches,
  salesLagSeconds: measureSalesLag,
  failingSources: countFailing,
  stalePartners: countStalePartners,
  searchLagSeconds: measureSearchLag,
};

/**
 * Measures the backlog into `backlog`.
 * @param onError - receives the error of a measure; only this measure is then unknown
 */
export async function measureBacklog(
  db: Database,
  onError: (error: unknown) => void,
  backlog: Partial<Record<keyof Backlog, unknown>>,
): Promise<void> {
  for (const name of Object.keys(measures) as (keyof Backlog)[]) {
    try {
      backlog[name] = await measures[name](db);
    } catch (error) {
      backlog[name] = undefined;
      onError(error);
    }
  }
}

/** Measures the backlog periodically, so that a scrape never waits for the database. */
export function startBacklogMeter(db: Database, log: Log) {
  const backlog: Partial<Backlog> = {};
  const onError = (error: unknown) => log.warn({ err: error }, 'failed to measure the backlog');
  const task = startPeriodicTask({
    milliseconds: measureMilliseconds,
    run: () => measureBacklog(db, onError, backlog),
    onError,
  });
  return { latest: () => backlog, stop: () => task.stop() };
}
