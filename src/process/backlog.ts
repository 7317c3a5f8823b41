import { measureSalesLag } from '../analytics/sales-watermark';
import type { Database } from '../db/database';
import type { Log } from '../shared/log';
import { measureQueue } from '../runs/queue-state.repository';
import { measureSearchLag } from '../products/search-index';
import { countFailing } from '../sources/sources.repository';
import { countStalePartners } from '../sources/stale-partners.repository';
import { startPeriodicTask } from '../shared/periodic-task';
import type { Backlog } from '../telemetry/metrics';
import { countDeliveries } from '../webhooks/deliveries.repository';

/** Prometheus usually scrapes every 15 s; one statement counts all deliveries. */
const measureMilliseconds = 5_000;

export async function measureBacklog(db: Database): Promise<Backlog> {
  return {
    queue: await measureQueue(db),
    webhookDeliveries: await countDeliveries(db),
    salesLagSeconds: await measureSalesLag(db),
    failingSources: await countFailing(db),
    stalePartners: await countStalePartners(db),
    searchLagSeconds: await measureSearchLag(db),
  };
}

/** Measures the backlog periodically, so that a scrape never waits for the database. */
export function startBacklogMeter(db: Database, log: Log) {
  let backlog: Backlog | undefined;
  const task = startPeriodicTask({
    milliseconds: measureMilliseconds,
    async run() {
      backlog = await measureBacklog(db);
    },
    onError(error) {
      backlog = undefined;
      log.warn({ err: error }, 'failed to measure the backlog');
    },
  });
  return { latest: () => backlog, stop: () => task.stop() };
}
