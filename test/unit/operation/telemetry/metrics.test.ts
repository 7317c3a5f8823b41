import { EventEmitter, once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { type Backlog, Metrics } from '../../../../src/operation/telemetry/metrics';

describe('catalog_etl_thread_deaths_total', () => {
  it('counts threads that crash, and not threads that are terminated', async () => {
    const metrics = new Metrics();
    const source = new EventEmitter();
    metrics.watchThreads(source);
    const start = (code: string) => {
      const worker = new Worker(code, { eval: true });
      source.emit('worker', worker);
      return worker;
    };
    const deaths = async () =>
      /^catalog_etl_thread_deaths_total (\d+)$/m.exec((await metrics.text()).text)![1];
    expect(await deaths()).toBe('0');

    await once(start("throw new Error('It dies.')"), 'error');
    await start('setInterval(() => undefined, 1000)').terminate();

    expect(await deaths()).toBe('1');
  });
});

describe('gauges of the backlog', () => {
  it('are absent while the backlog is unknown', async () => {
    const metrics = new Metrics();
    let latest: Partial<Backlog> = { queue: { runs: 3, oldestSeconds: 60, running: 0 } };
    metrics.watchBacklog(() => latest);
    expect((await metrics.text()).text).toContain('catalog_queue_runs 3\n');

    latest = {};

    expect((await metrics.text()).text).not.toContain('catalog_queue_runs 3\n');
  });
});
