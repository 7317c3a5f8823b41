import type { DatabaseAddress } from '../db/database';
import { openObjectStore } from '../storage/open-store';
import type { Metrics } from '../telemetry/metrics';
import { addressVariable, isMetricsQuestion, type ApiProcessMessage } from './messages';
import { openRequestPool, serve } from './serve';
import type { StartContext } from './start';

/**
 * Starts one of several processes that answer requests on one port: what the process that started this one has not done
 * for all of them.
 */
export async function startApiProcess({ config, log, cleanups }: StartContext): Promise<void> {
  const address = JSON.parse(process.env[addressVariable]!) as DatabaseAddress;
  const metrics = config.metrics && (await answerForMetrics());
  const db = openRequestPool(address, config, cleanups);
  const objectStore = await openObjectStore(config);
  cleanups.push({ what: 'object store', undo: () => objectStore.close() });
  const prepared = { config, log, cleanups, address, db, objectStore, metrics, sharesPort: true };
  tell({ type: 'listening', url: await serve(prepared) });
}

/** Says why this process does not start, and waits until that is on its way. */
export function tellFailure(message: string): Promise<void> {
  return new Promise((resolve) => tell({ type: 'failed', message }, resolve));
}

async function answerForMetrics(): Promise<Metrics> {
  const { Metrics } = await import('../telemetry/metrics.js');
  const metrics = new Metrics();
  process.on('message', (message: object) => {
    if (!isMetricsQuestion(message)) return;
    const { question } = message;
    void metrics.json().then((values) => tell({ type: 'metrics', question, values }));
  });
  return metrics;
}

function tell(message: ApiProcessMessage, sent: () => void = () => undefined): void {
  // Whoever is not there to hear it has ended, and this process does too.
  process.send!(message, undefined, undefined, () => sent());
}
