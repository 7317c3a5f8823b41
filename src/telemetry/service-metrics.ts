import cluster, { type Worker } from 'node:cluster';
import { AggregatorRegistry } from 'prom-client';
import type { Metrics, MetricsPage, MetricValues } from './metrics';

/**
 * Aggregates the metrics of all processes on one port, in the primary process.
 *
 * Counters never decrease: those of an ended process are kept. prom-client's own `clusterMetrics` would lose them, leave out the
 * primary process, and fail after five seconds when a process is frozen or dies meanwhile (docs/decisions/0019).
 */
export class ServiceMetrics implements MetricsPage {
  private readonly last = new Map<Worker, MetricValues>();
  private ended = Promise.resolve<MetricValues>([]);

  /** @param own - the metrics of this process @param ask - returns the metrics of the API processes that respond in time */
  constructor(
    private readonly own: Pick<Metrics, 'json'>,
    private readonly ask: () => Promise<Map<Worker, MetricValues>>,
  ) {
    cluster.on('exit', (worker) => this.keepCounts(worker));
  }

  async text(): Promise<{ mediaType: string; text: string }> {
    const [own, responses] = await Promise.all([this.own.json(), this.ask()]);
    for (const [worker, values] of responses) {
      // The counters of a dead process are in `ended`.
      if (!worker.isDead()) this.last.set(worker, values);
    }
    const [alive, ended] = [[...this.last.values()], await this.ended];
    const registry = AggregatorRegistry.aggregate([own, ...alive, ended]);
    return { mediaType: registry.contentType, text: await registry.metrics() };
  }

  /** Keeps the counters of an ended process, without its gauges. */
  private keepCounts(worker: Worker): void {
    const counts = this.last.get(worker)?.filter(({ type }) => isCount(type));
    if (!counts) return;
    this.last.delete(worker);
    this.ended = this.ended.then((ended) => AggregatorRegistry.aggregate([ended, counts]).getMetricsAsJSON());
  }
}

/** The library's types declare numbers, but its metrics have names. */
function isCount(type: unknown): boolean {
  return type === 'counter' || type === 'histogram';
}
