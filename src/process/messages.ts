import type { MetricValues } from '../telemetry/metrics';

/** What an API process tells the one that has started it. */
export type ApiProcessMessage =
  | { type: 'listening'; url: string }
  /** It cannot start; it ends by itself. */
  | { type: 'failed'; message: string }
  | { type: 'metrics'; question: number; values: MetricValues };

/** What it is asked. To stop, it gets a signal. */
export interface MetricsQuestion {
  type: 'metrics wanted';
  question: number;
}

/** Other messages are those of the rate limit. */
export function isMetricsQuestion(message: object): message is MetricsQuestion {
  return (message as Partial<MetricsQuestion>).type === 'metrics wanted';
}

/** In the environment of an API process: the address of the database as JSON, which may be that of an embedded server. */
export const addressVariable = 'API_PROCESS_DATABASE';
