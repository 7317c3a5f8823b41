import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import type { Log } from '../shared/log';

/** How long a restart waits after a failed one, twice as long each time, up to the longest. */
const backoffMilliseconds = 200;
const backoffMillisecondsMax = 30_000;

/** A server that has lived for this long did not die of its start: it is restarted at once. */
const steadyMilliseconds = 60_000;

/** The session that owns a server, and ends with it. */
export interface Owner {
  client: Client;
  ended: Promise<void>;
}

/** Restarts a server each time it ends, until that is stopped. */
export class RestartLoop {
  private readonly stopping = new AbortController();
  private readonly stopped: Promise<unknown>;
  private readonly over: Promise<void>;
  /** Undefined while there is no server, or another process owns it. */
  private owner?: Owner;
  private failure: unknown;

  /** @param restart - restarts the server where it is dead, and owns it again */
  constructor(
    owner: Owner,
    private readonly restart: (signal: AbortSignal) => Promise<Owner>,
    private readonly log: Log,
  ) {
    this.owner = owner;
    const { signal } = this.stopping;
    this.stopped = new Promise((resolve) => signal.addEventListener('abort', resolve));
    // It ends by the signal alone.
    this.over = this.run(owner).catch(() => undefined);
  }

  /**
   * Stops it, also during a restart.
   * @returns the owning session, if there is one, and why the last restart failed if there is none
   */
  async stop(): Promise<{ owner?: Owner; failure: unknown }> {
    this.stopping.abort();
    await this.over;
    return { owner: this.owner, failure: this.failure };
  }

  private async run(first: Owner): Promise<void> {
    const { signal } = this.stopping;
    let failures = 0;
    let owner = first;
    for (;;) {
      const startedAt = performance.now();
      await Promise.race([owner.ended, this.stopped]);
      signal.throwIfAborted();
      this.owner = undefined;
      this.failure = undefined;
      failures = performance.now() - startedAt < steadyMilliseconds ? failures + 1 : 0;
      owner = await this.restartUntilOwned(failures - 1);
      this.owner = owner;
    }
  }

  private async restartUntilOwned(failuresBefore: number): Promise<Owner> {
    const { signal } = this.stopping;
    for (let failures = failuresBefore; ; failures++) {
      const wait =
        failures > 0 ? Math.min(backoffMillisecondsMax, backoffMilliseconds * 2 ** (failures - 1)) : 0;
      await sleep(wait, undefined, { signal });
      try {
        return await this.restart(signal);
      } catch (error) {
        signal.throwIfAborted();
        this.failure = error;
        this.log.error({ err: error }, 'failed to restart embedded PostgreSQL');
      }
    }
  }
}
