import type { MetricValues } from '../telemetry/metrics';

/** A message from an API process to the primary process. */
export type ApiProcessMessage =
  | { type: 'listening'; url: string }
  /** It cannot start, and exits. */
  | { type: 'failed'; message: string }
  | { type: 'metrics'; request: number; values: MetricValues };

/** A request of the primary process. To stop an API process, it sends a signal. */
export interface MetricsRequest {
  type: 'get metrics';
  request: number;
}

/** Tells a request for metrics from the messages of the rate limiter. */
export function isMetricsRequest(message: object): message is MetricsRequest {
  return (message as Partial<MetricsRequest>).type === 'get metrics';
}

/** The environment variable of an API process with the address of the database, as JSON. */
export const addressVariable = 'API_PROCESS_DATABASE';
