import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import type { Log } from '../log';
import { RestartBackoff } from './restart-backoff';

export interface Owner {
  client: Client;
  ended: Promise<void>;
}

/** Restarts a server each time it ends, until `stop`. */
export class RestartLoop {
  private readonly stopping = new AbortController();
  private readonly stopped: Promise<unknown>;
  private readonly over: Promise<void>;
  /** Undefined without a server, or while another process owns it. */
  private owner?: Owner;
  private failure: unknown;

  /** @param restart - restarts a dead server and becomes its owner again */
  constructor(
    owner: Owner,
    private readonly restart: (signal: AbortSignal) => Promise<Owner>,
    private readonly log: Log,
  ) {
    this.owner = owner;
    const { signal } = this.stopping;
    this.stopped = new Promise((resolve) => signal.addEventListener('abort', resolve));
    // Only the signal ends it.
    this.over = this.run(owner).catch(() => undefined);
  }

  /** Ends the loop, also during a restart. @returns the owning session, or why the last restart failed */
  async stop(): Promise<{ owner?: Owner; failure: unknown }> {
    this.stopping.abort();
    await this.over;
    return { owner: this.owner, failure: this.failure };
  }

  private async run(first: Owner): Promise<void> {
    const { signal } = this.stopping;
    const backoff = new RestartBackoff();
    let owner = first;
    for (;;) {
      const startedAt = performance.now();
      await Promise.race([owner.ended, this.stopped]);
      signal.throwIfAborted();
      this.owner = undefined;
      this.failure = undefined;
      backoff.noteEnd(startedAt);
      owner = await this.restartUntilOwned(backoff);
      this.owner = owner;
    }
  }

  private async restartUntilOwned(backoff: RestartBackoff): Promise<Owner> {
    const { signal } = this.stopping;
    for (;;) {
      await sleep(backoff.milliseconds(), undefined, { signal });
      try {
        return await this.restart(signal);
      } catch (error) {
        signal.throwIfAborted();
        this.failure = error;
        backoff.noteFailure();
        this.log.error({ err: error }, 'failed to restart embedded PostgreSQL');
      }
    }
  }
}
