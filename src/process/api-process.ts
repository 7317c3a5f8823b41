import type { DatabaseAddress } from '../db/database';
import { openObjectStore } from '../storage/open-store';
import type { Metrics } from '../telemetry/metrics';
import { addressVariable, isMetricsRequest, type ApiProcessMessage } from './messages';
import { openRequestPool, serve } from './serve';
import type { StartContext } from './start';

/** Starts one of several API processes on one port. The primary process has done what is needed once. */
export async function startApiProcess({ config, log, cleanups }: StartContext): Promise<void> {
  const address = JSON.parse(process.env[addressVariable]!) as DatabaseAddress;
  const metrics = config.metrics && (await serveMetrics());
  const db = openRequestPool(address, config, cleanups);
  const objectStore = await openObjectStore(config);
  cleanups.push({ what: 'object store', dispose: () => objectStore.close() });
  const prepared = { config, log, cleanups, address, db, objectStore, metrics, sharesPort: true };
  send({ type: 'listening', url: await serve(prepared) });
}

/** Reports why this process cannot start, and waits until the message is sent. */
export function reportFailure(message: string): Promise<void> {
  return new Promise((resolve) => send({ type: 'failed', message }, resolve));
}

async function serveMetrics(): Promise<Metrics> {
  const { Metrics } = await import('../telemetry/metrics.js');
  const metrics = new Metrics();
  process.on('message', (message: object) => {
    if (!isMetricsRequest(message)) return;
    const { request } = message;
    void metrics.json().then((values) => send({ type: 'metrics', request, values }));
  });
  return metrics;
}

function send(message: ApiProcessMessage, onSent: () => void = () => undefined): void {
  // An error means that the primary process has exited: node:cluster then ends this one.
  process.send!(message, undefined, undefined, () => onSent());
}
