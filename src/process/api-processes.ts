import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { RateLimiterClusterMaster } from 'rate-limiter-flexible';
import type { Config } from '../config';
import { ConfigError } from '../shared/settings';
import type { DatabaseAddress } from '../db/database';
import type { Log } from '../shared/log';
import type { MetricValues } from '../telemetry/metrics';
import { addressVariable, type ApiProcessMessage, type MetricsQuestion } from './messages';
import { databaseForcedStopMilliseconds } from '../shared/shutdown';

/**
 * How long an API process that has died is waited for until another takes its place, when it has died soon after its
 * start: twice as long each time, up to the longest.
 */
const apiProcessRestartMilliseconds = 100;

const apiProcessRestartMillisecondsMax = 30_000;

/** One that has lived for this long did not die of its start: another takes its place at once. */
const apiProcessSteadyMilliseconds = 60_000;

/** How long an API process may take to tell its metrics; after that, what it told before is shown. */
const processMetricsMilliseconds = 1_000;

/**
 * The processes that answer requests on one port, as seen by the one that has started them. That one accepts the
 * connections and hands them over in turn. They end with it, however it ends: node does that.
 */
export class ApiProcesses {
  private readonly listening = new Set<Worker>();
  private readonly alive = new Set<Worker>();
  /** From then on, none is started. */
  private readonly over = new AbortController();
  private readonly signal: AbortSignal;
  /** Of those that died soon after their start, one after the other. */
  private early = 0;
  /** Those that are to take the place of one that has died, and were not started yet. */
  private untried = 0;
  private questions = 0;

  /**
   * @param signal - aborted when the service begins to stop: whoever ends from then on is not replaced
   * @param fail - is told why the service cannot go on
   */
  constructor(
    private readonly config: Config,
    private readonly log: Log,
    signal: AbortSignal,
    private readonly fail: (reason: unknown) => void,
  ) {
    this.signal = AbortSignal.any([signal, this.over.signal]);
  }

  /**
   * Starts them, and from then on another in the place of each that dies.
   * @returns the address that all listen on
   * @throws ConfigError, Error of the first that cannot start; the others are left to `stop`
   */
  async start(address: DatabaseAddress): Promise<string> {
    // It counts for all of them.
    if (this.config.rateLimit) new RateLimiterClusterMaster();
    // What keeps one from starting keeps all, and is to be told once.
    const url = await this.fork(address);
    await Promise.all(Array.from({ length: this.config.apiProcesses - 1 }, () => this.fork(address)));
    return url;
  }

  /** Whether any of them takes requests. */
  isListening(): boolean {
    return this.listening.size > 0;
  }

  /** Has them stop as a process that is alone does, and waits until they have; by force shortly before the deadline. */
  async stop(deadline: number): Promise<void> {
    this.over.abort();
    const ended = [...this.alive].map((worker) => once(worker, 'exit'));
    for (const worker of this.alive) worker.process.kill('SIGTERM');
    const patience = Math.max(0, deadline - databaseForcedStopMilliseconds - Date.now());
    await Promise.race([Promise.all(ended), sleep(patience, undefined, { ref: false })]);
    for (const worker of this.alive) worker.process.kill('SIGKILL');
    await Promise.all(ended);
  }

  /** Those who answer, and what they have measured. */
  async metrics(): Promise<Map<Worker, MetricValues>> {
    const answers = new Map<Worker, MetricValues>();
    const question = ++this.questions;
    const ask = async (worker: Worker) => {
      const over = new AbortController();
      const answered = new Promise<void>((resolve) => {
        const take = (message: ApiProcessMessage) => {
          if (message.type !== 'metrics' || message.question !== question) return;
          answers.set(worker, message.values);
          resolve();
        };
        worker.on('message', take).once('exit', resolve);
        over.signal.addEventListener('abort', () => worker.off('message', take).off('exit', resolve));
      });
      worker.send({ type: 'metrics wanted', question } satisfies MetricsQuestion);
      await Promise.race([answered, sleep(processMetricsMilliseconds, undefined, { ref: false })]);
      over.abort();
    };
    await Promise.all([...this.listening].map(ask));
    return answers;
  }

  /** @returns the address, once it listens. @throws why it ended before */
  private fork(address: DatabaseAddress): Promise<string> {
    this.signal.throwIfAborted();
    const worker = cluster.fork({ [addressVariable]: JSON.stringify(address) });
    const startedAt = performance.now();
    this.alive.add(worker);
    // What is sent to one that dies meanwhile is lost with it.
    worker.on('error', (error) => this.log.debug({ err: error }, 'an API process was not reached'));
    return new Promise((resolve, reject) => {
      let failure: Error | undefined;
      worker.on('message', (message: ApiProcessMessage) => {
        if (message.type === 'failed') failure = new ConfigError(message.message);
        if (message.type !== 'listening') return;
        this.listening.add(worker);
        this.log.info({ api_process: worker.process.pid }, 'an API process listens');
        resolve(message.url);
      });
      worker.once('exit', (code: number | null, signal: string | null) => {
        this.alive.delete(worker);
        const end = `An API process has ended (${signal ?? `exit code ${code}`})`;
        if (!this.listening.delete(worker)) return reject(failure ?? new Error(`${end} before it listened.`));
        if (this.signal.aborted) return;
        this.log.error({ api_process: worker.process.pid, code, signal }, 'an API process has ended');
        const isEarly = performance.now() - startedAt < apiProcessSteadyMilliseconds;
        this.early = isEarly ? this.early + 1 : 0;
        void this.replace(address);
      });
    });
  }

  /** Starts another, and tries again as long as others answer requests meanwhile, or are about to. */
  private async replace(address: DatabaseAddress): Promise<void> {
    this.untried++;
    for (let tries = 0; ; tries++) {
      const backoff = apiProcessRestartMilliseconds * 2 ** (this.early - 1);
      const wait = this.early === 0 ? 0 : Math.min(apiProcessRestartMillisecondsMax, backoff);
      try {
        await sleep(wait, undefined, { signal: this.signal });
        if (tries === 0) this.untried--;
        await this.fork(address);
        return;
      } catch (error) {
        if (this.signal.aborted) return;
        if (this.alive.size + this.untried === 0) return this.fail(error);
        this.log.error({ err: error }, 'an API process could not be started');
        this.early++;
      }
    }
  }
}
