import cluster, { type Worker } from 'node:cluster';
import { AggregatorRegistry } from 'prom-client';
import type { Metrics, MetricsPage, MetricValues } from './metrics';

/**
 * What Prometheus is told of all processes that share a port: this one, which started them, has the sums. What is counted
 * never becomes less: of a process that has ended stays what it told last. prom-client can ask processes by itself, but
 * waits in vain for one that dies meanwhile or has not started yet.
 */
export class ServiceMetrics implements MetricsPage {
  private readonly last = new Map<Worker, MetricValues>();
  private ended = Promise.resolve<MetricValues>([]);

  /**
   * @param own - those of this process
   * @param ask - asks the processes that can answer; one that does not in time is left out
   */
  constructor(
    private readonly own: Pick<Metrics, 'json'>,
    private readonly ask: () => Promise<Map<Worker, MetricValues>>,
  ) {
    cluster.on('exit', (worker) => this.keepCounts(worker));
  }

  async text(): Promise<{ mediaType: string; text: string }> {
    const [own, answers] = await Promise.all([this.own.json(), this.ask()]);
    for (const [worker, values] of answers) {
      // What it told last, before its end, is among those that have ended.
      if (!worker.isDead()) this.last.set(worker, values);
    }
    const [alive, ended] = [[...this.last.values()], await this.ended];
    const registry = AggregatorRegistry.aggregate([own, ...alive, ended]);
    return { mediaType: registry.contentType, text: await registry.metrics() };
  }

  /** What a process had at a moment, memory say, ends with it; what it has counted does not. */
  private keepCounts(worker: Worker): void {
    const counts = this.last.get(worker)?.filter(({ type }) => isCount(type));
    if (!counts) return;
    this.last.delete(worker);
    this.ended = this.ended.then((ended) => AggregatorRegistry.aggregate([ended, counts]).getMetricsAsJSON());
  }
}

/** The library's types have numbers for them, and its metrics have names. */
function isCount(type: unknown): boolean {
  return type === 'counter' || type === 'histogram';
}
