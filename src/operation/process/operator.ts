import type { Config } from '../../config';
import type { Log } from '../../base/log';
import type { Metrics } from '../telemetry/metrics';
import type { Readiness } from '../telemetry/readiness';
import type { Cleanup } from './cleanups';
import { listen } from './listen';

/**
 * Serves metrics and probes from the start of the process to its end. Loads their code only here: it takes 10 MB.
 * @returns the metrics of this process
 */
export async function startOperatorServer(
  at: NonNullable<Config['metrics']>,
  {
    config: { host },
    readiness,
    log,
    cleanups,
  }: { config: Config; readiness: Readiness; log: Log; cleanups: Cleanup[] },
): Promise<Metrics> {
  const { Metrics } = await import('../telemetry/metrics.js');
  const { createOperatorServer } = await import('../telemetry/operator-server.js');
  const metrics = new Metrics();
  const server = createOperatorServer(metrics, readiness, log);
  const hostSetting = at.host === host ? 'HOST' : 'METRICS_HOST';
  const metricsUrl = await listen(server, at, { host: hostSetting, port: 'METRICS_PORT' });
  cleanups.push({
    what: 'metrics',
    dispose: () => {
      server.close();
      server.closeAllConnections();
    },
  });
  log.info({ metrics_url: metricsUrl }, 'metrics and probes');
  return metrics;
}
