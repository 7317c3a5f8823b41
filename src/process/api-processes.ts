import cluster, { type Worker } from 'node:cluster';
import { on, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { RateLimiterClusterMaster } from 'rate-limiter-flexible';
import type { Config } from '../config';
import { ConfigError } from '../shared/settings';
import type { DatabaseAddress } from '../db/database';
import type { Log } from '../shared/log';
import { RestartBackoff } from '../shared/restart-backoff';
import type { MetricValues } from '../telemetry/metrics';
import { addressVariable, type ApiProcessMessage, type MetricsRequest } from './messages';
import { databaseForcedStopMilliseconds } from '../shared/shutdown';

/** Timeout of a request for metrics; after it, the last values of the process are shown. */
const processMetricsMilliseconds = 1_000;

/**
 * The API processes on one port, as the primary process manages them. It accepts connections and distributes them. When it
 * exits, node:cluster ends the others.
 */
export class ApiProcesses {
  private readonly listening = new Set<Worker>();
  private readonly alive = new Set<Worker>();
  private readonly stopping = new AbortController();
  /** Aborted: no process is started any more. */
  private readonly signal: AbortSignal;
  private readonly backoff = new RestartBackoff();
  /** Replacements that were not forked yet. */
  private pendingForks = 0;
  private requests = 0;

  /** @param signal - aborted when the service starts to shut down @param fail - receives a fatal error after the start */
  constructor(
    private readonly config: Config,
    private readonly log: Log,
    signal: AbortSignal,
    private readonly fail: (reason: unknown) => void,
  ) {
    this.signal = AbortSignal.any([signal, this.stopping.signal]);
  }

  /**
   * Starts all processes, and from then on replaces each that dies.
   * @returns the address on which they listen
   * @throws ConfigError, Error of the first that cannot start; `stop` ends the others
   */
  async start(address: DatabaseAddress): Promise<string> {
    // Counts requests for all processes.
    if (this.config.rateLimit) new RateLimiterClusterMaster();
    // The first one alone: an error that concerns all is reported once.
    const url = await this.fork(address);
    await Promise.all(Array.from({ length: this.config.apiProcesses - 1 }, () => this.fork(address)));
    return url;
  }

  isListening(): boolean {
    return this.listening.size > 0;
  }

  /** Shuts all processes down and waits for their end; kills them shortly before the deadline. */
  async stop(deadline: number): Promise<void> {
    this.stopping.abort();
    const ended = [...this.alive].map((worker) => once(worker, 'exit'));
    for (const worker of this.alive) worker.process.kill('SIGTERM');
    const timeout = Math.max(0, deadline - databaseForcedStopMilliseconds - Date.now());
    await Promise.race([Promise.all(ended), sleep(timeout, undefined, { ref: false })]);
    for (const worker of this.alive) worker.process.kill('SIGKILL');
    await Promise.all(ended);
  }

  /** Returns the metrics of each process that responds in time. */
  async metrics(): Promise<Map<Worker, MetricValues>> {
    const responses = new Map<Worker, MetricValues>();
    const request = ++this.requests;
    const signal = AbortSignal.timeout(processMetricsMilliseconds);
    const ask = async (worker: Worker) => {
      worker.send({ type: 'get metrics', request } satisfies MetricsRequest);
      const messages = on(worker, 'message', { signal, close: ['exit'] });
      for await (const [message] of messages as AsyncIterable<[ApiProcessMessage]>) {
        if (message.type !== 'metrics' || message.request !== request) continue;
        responses.set(worker, message.values);
        return;
      }
    };
    await Promise.allSettled([...this.listening].map(ask));
    return responses;
  }

  /** @returns the address once the process listens. @throws the reason when it exits before */
  private fork(address: DatabaseAddress): Promise<string> {
    this.signal.throwIfAborted();
    const worker = cluster.fork({ [addressVariable]: JSON.stringify(address) });
    const startedAt = performance.now();
    this.alive.add(worker);
    // A message to a process that has just died.
    worker.on('error', (error) => this.log.debug({ err: error }, 'failed to reach API process'));
    return new Promise((resolve, reject) => {
      let failure: Error | undefined;
      worker.on('message', (message: ApiProcessMessage) => {
        if (message.type === 'failed') failure = new ConfigError(message.message);
        if (message.type !== 'listening') return;
        this.listening.add(worker);
        this.log.info({ api_process: worker.process.pid }, 'API process listening');
        resolve(message.url);
      });
      worker.once('exit', (code: number | null, signal: string | null) => {
        this.alive.delete(worker);
        const end = `An API process has ended (${signal ?? `exit code ${code}`})`;
        if (!this.listening.delete(worker)) return reject(failure ?? new Error(`${end} before it listened.`));
        if (this.signal.aborted) return;
        this.log.error({ api_process: worker.process.pid, code, signal }, 'API process ended');
        this.backoff.noteEnd(startedAt);
        void this.replace(address);
      });
    });
  }

  /** Starts a replacement; retries while other processes are alive or pending. */
  private async replace(address: DatabaseAddress): Promise<void> {
    this.pendingForks++;
    for (let tries = 0; ; tries++) {
      try {
        await sleep(this.backoff.milliseconds(), undefined, { signal: this.signal });
        if (tries === 0) this.pendingForks--;
        await this.fork(address);
        return;
      } catch (error) {
        if (this.signal.aborted) return;
        if (this.alive.size + this.pendingForks === 0) return this.fail(error);
        this.log.error({ err: error }, 'failed to start API process');
        this.backoff.noteFailure();
      }
    }
  }
}
