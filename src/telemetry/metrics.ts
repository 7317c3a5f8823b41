import {
  collectDefaultMetrics,
  Counter,
  Gauge,
  Histogram,
  Registry,
  type MetricObjectWithValues,
  type MetricValue,
} from 'prom-client';
import type { PoolUse } from '../db/pool-use';
import type { Replica } from '../db/replica';
import type { RunRecord, Runner } from '../etl/runner';
import type { RequestOutcome, RequestRecord } from '../http/request-log';

/** From the fastest answer to an upload of a gigabyte. */
const requestSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
/** From a feed of a few rows to one of millions. */
const runSeconds = [0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600];

const rowOutcomes = ['inserted', 'updated', 'unchanged', 'skipped'] as const;
const requestOutcomes: readonly RequestOutcome[] = ['ok', 'refused', 'failed', 'aborted', 'truncated'];

/** What a process has measured, in a form that can be sent to another one. */
export type MetricValues = MetricObjectWithValues<MetricValue<string>>[];

/** What Prometheus is told. */
export interface MetricsPage {
  /** In its text format. */
  text(): Promise<{ mediaType: string; text: string }>;
}

/**
 * What Prometheus is told of this process. Every label has few values, whatever callers send: operations and statuses are
 * the document's, and what is none of its operations is `none`.
 */
export class Metrics implements MetricsPage {
  private readonly registry = new Registry();
  private readonly requests = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the headers of a request to the end of its answer.',
    labelNames: ['operation', 'status', 'outcome'] as const,
    buckets: requestSeconds,
    registers: [this.registry],
  });
  private readonly refusals = new Counter({
    name: 'http_refused_before_request_total',
    help: 'What the HTTP layer refused before it was a request: malformed, too large, too slow.',
    labelNames: ['status'] as const,
    registers: [this.registry],
  });
  private readonly uploadBytes = new Counter({
    name: 'catalog_upload_bytes_total',
    help: 'Bytes of requests to upload a feed, headers and form included, once they are over.',
    labelNames: ['outcome'] as const,
    registers: [this.registry],
  });
  private readonly rows = new Counter({
    name: 'catalog_etl_rows_total',
    help: 'Rows of feeds, by what became of them in a run.',
    labelNames: ['outcome'] as const,
    registers: [this.registry],
  });
  private readonly runs = new Histogram({
    name: 'catalog_etl_run_duration_seconds',
    help: 'Time from the begin of a run of a validation job to its end, without the wait for its turn.',
    labelNames: ['outcome'] as const,
    buckets: runSeconds,
    registers: [this.registry],
  });

  constructor() {
    collectDefaultMetrics({ register: this.registry });
    // A series that begins with its first event has no rate before the second.
    for (const outcome of rowOutcomes) this.rows.inc({ outcome }, 0);
    for (const outcome of requestOutcomes) this.uploadBytes.inc({ outcome }, 0);
    for (const outcome of ['completed', 'failed', 'unavailable']) this.runs.zero({ outcome });
  }

  /** Counts a request that is over. */
  readonly observeRequest = ({ operation, status, outcome, seconds, bytesIn }: RequestRecord): void => {
    if (seconds === undefined) this.refusals.inc({ status });
    else this.requests.observe({ operation: operation ?? 'none', status, outcome }, seconds);
    if (operation === 'uploadFeed') this.uploadBytes.inc({ outcome }, bytesIn);
  };

  /** Counts a run that has ended; one that another was already at is none. */
  readonly observeRun = ({ outcome, counters, seconds }: RunRecord): void => {
    if (outcome === 'already_running' || outcome === 'not_queued') return;
    this.runs.observe({ outcome }, seconds);
    if (!counters) return;
    for (const row of rowOutcomes) this.rows.inc({ outcome: row }, counters[row]);
  };

  /**
   * Shows, from now on, what goes on at the moment of being asked.
   * @param ownPools - those of this thread, by the name that they are shown under
   */
  watch(ownPools: Record<string, () => PoolUse>, runner: Pick<Runner, 'use'>): void {
    const pools = () => [
      ...Object.entries(ownPools).map(([pool, use]) => [pool, use()] as const),
      ['etl', runner.use().pool] as const,
    ];
    this.addGauge('catalog_db_pool_connections', 'Open connections to the database.', ['pool', 'state'], () =>
      pools().flatMap(([pool, { used, free }]) => [
        [{ pool, state: 'used' }, used],
        [{ pool, state: 'free' }, free],
      ]),
    );
    this.addGauge('catalog_db_pool_waiting', 'Who waits for a connection to the database.', ['pool'], () =>
      pools().map(([pool, { waiting }]) => [{ pool }, waiting]),
    );
    this.addGauge(
      'catalog_etl_tasks',
      'Runs and plans, at work or waiting for their turn.',
      ['state'],
      () => {
        const { working, waiting } = runner.use();
        return [
          [{ state: 'working' }, working],
          [{ state: 'waiting' }, waiting],
        ];
      },
    );
  }

  /** All of it, to be added to that of other processes. */
  json(): Promise<MetricValues> {
    return this.registry.getMetricsAsJSON();
  }

  /** Shows, from now on, how far the replica is behind and whether it is read from. */
  watchReplica(replica: Pick<Replica, 'age' | 'lagSeconds'>): void {
    this.addGauge(
      'catalog_db_replica_lag_seconds',
      'How far the replica is behind at most.',
      [],
      () => [[{}, replica.lagSeconds()]],
      'max',
    );
    this.addGauge('catalog_db_replica_used', 'How many processes read from the replica.', [], () => [
      [{}, replica.age() < Infinity ? 1 : 0],
    ]);
  }

  /** All of it in the text format of Prometheus. */
  async text(): Promise<{ mediaType: string; text: string }> {
    return { mediaType: this.registry.contentType, text: await this.registry.metrics() };
  }

  private addGauge(
    name: string,
    help: string,
    labelNames: string[],
    values: () => [labels: Record<string, string>, value: number][],
    aggregator: 'sum' | 'max' = 'sum',
  ): void {
    new Gauge({
      name,
      help,
      labelNames,
      aggregator,
      registers: [this.registry],
      collect() {
        for (const [labels, value] of values()) this.set(labels, value);
      },
    });
  }
}
