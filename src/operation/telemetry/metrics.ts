import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Worker } from 'node:worker_threads';
import type { PoolUse } from '../../base/db/pool-use';
import type { Replica } from '../../base/db/replica';
import type { RunRecord, RunWorker } from '../../runs/execution/worker';
import type { AttemptOutcome } from '../../intake/sources/fetch-source';
import type { DeliveryOutcome } from '../../webhooks/outcomes.repository';
import type { DependencyStates } from './dependencies';
import { requestOutcomes, type RequestOutcome, type RequestRecord } from '../../http/request-log';

/** Buckets from the fastest response to an upload of a gigabyte. */
const requestSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
/** Buckets from a feed of a few rows to one of millions. */
const runSeconds = [0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600];

const rowOutcomes = ['inserted', 'updated', 'unchanged', 'skipped'] as const;

/** Work that waits in the database, for all processes. */
export interface Backlog {
  queue: { runs: number; oldestSeconds: number; running: number };
  webhookDeliveries: { count: number; oldestSeconds: number };
  fetches: { oldestSeconds: number; running: number };
  salesLagSeconds: number;
  searchLagSeconds: number;
  failingSources: number;
  stalePartners: number;
}

/** The metrics of the service, with their labels. The reference page of metrics is generated from this table. */
export const serviceMetrics = {
  http_request_duration_seconds: {
    type: 'histogram',
    labels: { operation: '`operationId`, or `none`', status: 'status code', outcome: 'see the log' },
    help: 'Duration of requests, from the headers to the end of the response.',
  },
  http_refused_before_request_total: {
    type: 'counter',
    labels: { status: '400, 408, 431, 501' },
    help: 'Requests rejected by the HTTP server before routing.',
  },
  catalog_upload_bytes_total: {
    type: 'counter',
    labels: { outcome: 'see the log' },
    help: 'Bytes received by completed upload requests, headers and form included.',
  },
  catalog_etl_rows_total: {
    type: 'counter',
    labels: { outcome: '`inserted`, `updated`, `unchanged`, `skipped`' },
    help: 'Rows of runs.',
  },
  catalog_etl_run_duration_seconds: {
    type: 'histogram',
    labels: { outcome: '`completed`, `failed`, `unavailable`' },
    help: 'Duration of runs, without the time that they wait.',
  },
  catalog_etl_tasks: {
    type: 'gauge',
    labels: { state: '`working`, `waiting`' },
    help: 'Runs and plans.',
  },
  catalog_etl_thread_deaths_total: {
    type: 'counter',
    labels: {},
    help: 'ETL threads that crashed, for example out of memory.',
  },
  catalog_queue_runs: {
    type: 'gauge',
    labels: {},
    help: 'Runs that wait in the queue, of all processes on the database.',
  },
  catalog_queue_oldest_run_seconds: {
    type: 'gauge',
    labels: {},
    help: 'Age of the oldest run that waits in the queue. 0 when none waits.',
  },
  catalog_queue_running: {
    type: 'gauge',
    labels: {},
    help: 'Runs of the queue in progress, of all processes on the database.',
  },
  catalog_webhook_deliveries_waiting: {
    type: 'gauge',
    labels: {},
    help: 'Webhook deliveries not accepted yet, of all processes on the database.',
  },
  catalog_webhook_oldest_delivery_seconds: {
    type: 'gauge',
    labels: {},
    help: 'How long the oldest due webhook delivery has waited for its attempt. 0 when none waits.',
  },
  catalog_webhook_deliveries_total: {
    type: 'counter',
    labels: { outcome: '`delivered`, `failed`, `discarded`' },
    help: 'Webhook deliveries. Each failed attempt counts as `failed`; the last one of an event counts as `discarded` too.',
  },
  catalog_sources_failing: {
    type: 'gauge',
    labels: {},
    help: 'Sources whose last five attempts to fetch have failed, of all processes on the database.',
  },
  catalog_partners_stale: {
    type: 'gauge',
    labels: {},
    help: 'Partners without a completed feed for longer than their sources or PARTNER_STALE_DAYS allow.',
  },
  catalog_source_oldest_fetch_seconds: {
    type: 'gauge',
    labels: {},
    help: 'How long the oldest due fetch of a source, or time of its schedule, has waited. Fetches of a partner with two in progress do not count. 0 when none waits.',
  },
  catalog_source_fetches_running: {
    type: 'gauge',
    labels: {},
    help: 'Fetches of sources in progress, of all processes on the database.',
  },
  catalog_source_fetches_total: {
    type: 'counter',
    labels: { outcome: '`completed`, `unchanged`, `failed`' },
    help: 'Attempts to fetch a source. An attempt that creates no feed because the file is the same counts as `unchanged`.',
  },
  catalog_sales_rollup_lag_seconds: {
    type: 'gauge',
    labels: {},
    help: 'Age of the oldest order that is not in the sums of sales. 0 when all are.',
  },
  catalog_search_lag_seconds: {
    type: 'gauge',
    labels: {},
    help: 'Age of the oldest change of products that the search does not find yet. 0 when it finds all.',
  },
  catalog_database_up: {
    type: 'gauge',
    labels: {},
    help: '1 while PostgreSQL accepts a new connection of the process, else 0.',
  },
  catalog_object_store_up: {
    type: 'gauge',
    labels: {},
    help: '1 while the process can use the object store, else 0.',
  },
  catalog_db_pool_connections: {
    type: 'gauge',
    labels: { pool: '`api`, `upload_keys`, `etl`, `replica`', state: '`used`, `free`' },
    help: 'Open connections to PostgreSQL.',
  },
  catalog_db_pool_waiting: {
    type: 'gauge',
    labels: { pool: '`api`, `upload_keys`, `etl`, `replica`' },
    help: 'Requests that wait for a connection to PostgreSQL.',
  },
  catalog_db_replica_lag_seconds: {
    type: 'gauge',
    labels: {},
    help: 'Upper bound of the lag of the replica; +Inf if it is unknown. Absent without a replica.',
  },
  catalog_db_replica_used: {
    type: 'gauge',
    labels: {},
    help: '1 while the process reads from the replica, else 0. Absent without a replica.',
  },
} as const;

type MetricName = keyof typeof serviceMetrics;
type LabelOf<Name extends MetricName> = keyof (typeof serviceMetrics)[Name]['labels'] & string;

function optionsOf<Name extends MetricName>(name: Name, registry: Registry) {
  const { help, labels } = serviceMetrics[name];
  return { name, help, labelNames: Object.keys(labels) as LabelOf<Name>[], registers: [registry] };
}

/** The metrics of this process. Each label has few values, for any requests: the operation of unknown routes is `none`. */
export class Metrics {
  private readonly registry = new Registry();
  private readonly requests = new Histogram({
    ...optionsOf('http_request_duration_seconds', this.registry),
    buckets: requestSeconds,
  });
  private readonly refusals = new Counter(optionsOf('http_refused_before_request_total', this.registry));
  private readonly uploadBytes = new Counter(optionsOf('catalog_upload_bytes_total', this.registry));
  private readonly rows = new Counter(optionsOf('catalog_etl_rows_total', this.registry));
  private readonly runs = new Histogram({
    ...optionsOf('catalog_etl_run_duration_seconds', this.registry),
    buckets: runSeconds,
  });

  private readonly threadDeaths = new Counter(optionsOf('catalog_etl_thread_deaths_total', this.registry));
  private readonly deliveries = new Counter(optionsOf('catalog_webhook_deliveries_total', this.registry));

  private readonly fetches = new Counter(optionsOf('catalog_source_fetches_total', this.registry));

  constructor() {
    collectDefaultMetrics({ register: this.registry });
    // Without a zero, a series has no rate before its second event.
    for (const outcome of rowOutcomes) this.rows.inc({ outcome }, 0);
    for (const outcome of Object.keys(requestOutcomes) as RequestOutcome[])
      this.uploadBytes.inc({ outcome }, 0);
    for (const outcome of ['completed', 'failed', 'unavailable']) this.runs.zero({ outcome });
    for (const outcome of ['delivered', 'failed', 'discarded']) this.deliveries.inc({ outcome }, 0);
    for (const outcome of ['completed', 'unchanged', 'failed']) this.fetches.inc({ outcome }, 0);
  }

  readonly observeRequest = ({ operation, status, outcome, seconds, bytesIn }: RequestRecord): void => {
    if (seconds === undefined) this.refusals.inc({ status });
    else this.requests.observe({ operation: operation ?? 'none', status, outcome }, seconds);
    if (operation === 'uploadFeed') this.uploadBytes.inc({ outcome }, bytesIn);
  };

  readonly observeRun = ({ outcome, counters, seconds }: RunRecord): void => {
    if (outcome === 'not_claimed') return;
    this.runs.observe({ outcome }, seconds);
    if (!counters) return;
    for (const row of rowOutcomes) this.rows.inc({ outcome: row }, counters[row]);
  };

  readonly observeDeliveries = (outcome: DeliveryOutcome | 'failed', count: number): void => {
    this.deliveries.inc({ outcome }, count);
  };

  readonly observeFetch = (outcome: AttemptOutcome): void => {
    this.fetches.inc({ outcome });
  };

  /** Counts deaths of ETL threads, the only threads. @param source - emits `worker` for each new thread */
  watchThreads(source: Pick<NodeJS.EventEmitter, 'on'> = process): void {
    source.on('worker', (worker: Worker) => worker.once('error', () => this.threadDeaths.inc()));
  }

  /** Adds gauges of the backlog. @param latest - without unknown values */
  watchBacklog(latest: () => Partial<Backlog>): void {
    const addGauge = (name: MetricName, valueOf: (backlog: Partial<Backlog>) => number | undefined) =>
      this.addGauge(name, () => {
        const value = valueOf(latest());
        return value === undefined ? [] : [[{}, value]];
      });
    addGauge('catalog_queue_runs', ({ queue }) => queue?.runs);
    addGauge('catalog_queue_oldest_run_seconds', ({ queue }) => queue?.oldestSeconds);
    addGauge('catalog_queue_running', ({ queue }) => queue?.running);
    addGauge('catalog_webhook_deliveries_waiting', ({ webhookDeliveries }) => webhookDeliveries?.count);
    addGauge(
      'catalog_webhook_oldest_delivery_seconds',
      ({ webhookDeliveries }) => webhookDeliveries?.oldestSeconds,
    );
    addGauge('catalog_source_oldest_fetch_seconds', ({ fetches }) => fetches?.oldestSeconds);
    addGauge('catalog_source_fetches_running', ({ fetches }) => fetches?.running);
    addGauge('catalog_sources_failing', ({ failingSources }) => failingSources);
    addGauge('catalog_partners_stale', ({ stalePartners }) => stalePartners);
    addGauge('catalog_sales_rollup_lag_seconds', ({ salesLagSeconds }) => salesLagSeconds);
    addGauge('catalog_search_lag_seconds', ({ searchLagSeconds }) => searchLagSeconds);
  }

  /** Adds gauges of dependencies. @param latest - undefined before the first check */
  watchDependencies(latest: () => DependencyStates | undefined): void {
    const addGauge = (metric: MetricName, name: keyof DependencyStates) =>
      this.addGauge(metric, () => {
        const states = latest();
        return states ? [[{}, states[name] ? 1 : 0]] : [];
      });
    addGauge('catalog_database_up', 'database');
    addGauge('catalog_object_store_up', 'objectStore');
  }

  /** Adds gauges of pools and runs. @param ownPools - the pools of this thread, by label */
  watch(ownPools: Record<string, () => PoolUse>, worker: Pick<RunWorker, 'use'>): void {
    const pools = () => [
      ...Object.entries(ownPools).map(([pool, use]) => [pool, use()] as const),
      ['etl', worker.use().pool] as const,
    ];
    this.addGauge('catalog_db_pool_connections', () =>
      pools().flatMap(([pool, { used, free }]) => [
        [{ pool, state: 'used' }, used],
        [{ pool, state: 'free' }, free],
      ]),
    );
    this.addGauge('catalog_db_pool_waiting', () => pools().map(([pool, { waiting }]) => [{ pool }, waiting]));
    this.addGauge('catalog_etl_tasks', () => {
      const { working, waiting } = worker.use();
      return [
        [{ state: 'working' }, working],
        [{ state: 'waiting' }, waiting],
      ];
    });
  }

  watchReplica(replica: Pick<Replica, 'age' | 'lagSeconds'>): void {
    this.addGauge('catalog_db_replica_lag_seconds', () => [[{}, replica.lagSeconds()]]);
    this.addGauge('catalog_db_replica_used', () => [[{}, replica.age() < Infinity ? 1 : 0]]);
  }

  async text(): Promise<{ mediaType: string; text: string }> {
    return { mediaType: this.registry.contentType, text: await this.registry.metrics() };
  }

  private addGauge<Name extends MetricName>(
    name: Name,
    values: () => [labels: Partial<Record<LabelOf<Name>, string>>, value: number][],
  ): void {
    new Gauge({
      ...optionsOf(name, this.registry),
      collect() {
        this.reset();
        for (const [labels, value] of values()) this.set(labels, value);
      },
    });
  }
}
