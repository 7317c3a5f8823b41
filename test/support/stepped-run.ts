import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type QueryConfig } from 'pg';
import { openDatabase } from '../../src/base/db/database';
import { runFeed, type RunReport } from '../../src/runs/execution/run-feed';
import { createLog } from '../../src/base/log';
import { requestRunOf } from './requested-runs';
import type { UploadedFeed } from './api-client';
import { eventually } from './harness';
import type { TestService } from './service';

/** `stopped` before a statement, `blocked` by a lock of another transaction, or `ended`. */
type RunState = 'stopped' | 'blocked' | 'ended';

/** A run that stops before each statement of its transaction, from the claim to the commit. */
export class SteppedRun {
  private readonly report: Promise<RunReport>;
  private backend: number | undefined;
  private resume: (() => void) | undefined;
  private hasEnded = false;
  /** Called when the run has stopped or ended. */
  private onHalt: () => void = () => undefined;
  /** The next statement of the run, or the one in progress. */
  statement = '';

  private constructor(
    private readonly service: TestService,
    { jobId }: Pick<UploadedFeed, 'jobId'>,
    firstLoadBytes?: number,
  ) {
    const db = openDatabase(service.address, { applicationName: 'etl', connectionsMax: 5 });
    const client = db.client as { acquireRawConnection(): Promise<Client> };
    const acquire = client.acquireRawConnection.bind(client);
    client.acquireRawConnection = async () => this.watch(await acquire());
    const { objectStore } = service;
    const log = createLog(process.env.TEST_LOG_LEVEL ?? 'fatal');
    const job = Number(jobId.slice(2));
    // On another connection: only the statements of the run are stepped.
    this.report = requestRunOf(service.db, job, { attempts: 1 })
      .then(({ jobId, run }) => runFeed({ jobId, run }, { db, objectStore, log, firstLoadBytes }))
      .finally(async () => {
        await db.destroy();
        this.hasEnded = true;
        this.onHalt();
      });
    // Its failure reaches the caller that awaits it.
    this.report.catch(() => undefined);
  }

  /** Starts a run; it stops before its claim on the job. */
  static async start(
    service: TestService,
    feed: Pick<UploadedFeed, 'jobId'>,
    firstLoadBytes?: number,
  ): Promise<SteppedRun> {
    const run = new SteppedRun(service, feed, firstLoadBytes);
    await run.look();
    return run;
  }

  /** The result of the run, after it has ended. */
  get outcome(): Promise<RunReport> {
    return this.report;
  }

  /** Lets the run execute a statement. @returns its state after that */
  async step(): Promise<RunState> {
    const { resume } = this;
    this.resume = undefined;
    resume?.();
    return this.look();
  }

  /** The state of the run when it neither computes nor has a statement in progress. */
  look(): Promise<RunState> {
    return eventually('the run stops, ends, or is blocked', async () => {
      const isBusy = !this.hasEnded && !this.resume;
      if (isBusy && (await isBlocked(this.service, this.backend))) return 'blocked';
      if (!this.hasEnded && !this.resume) {
        const halted = new Promise<void>((resolve) => (this.onHalt = resolve));
        await Promise.race([halted, sleep(20)]);
      }
      if (this.hasEnded) return 'ended';
      return this.resume !== undefined && 'stopped';
    });
  }

  /** Takes steps until the next statement matches. @throws Error if none does */
  async stepTo(statement: RegExp): Promise<void> {
    while (!statement.test(this.statement)) {
      const state = await this.step();
      if (state !== 'stopped') throw new Error(`The run is ${state} at: ${this.statement}`);
    }
  }

  /** Takes all remaining steps. @throws Error if the run is blocked */
  async finish(): Promise<RunReport> {
    for (;;) {
      const state = await this.step();
      if (state === 'ended') return this.report;
      if (state === 'blocked') throw new Error(`The run is blocked at: ${this.statement}`);
    }
  }

  /** Stops every statement of the connection that claims the job. */
  private watch(connection: Client): Client {
    const query = connection.query.bind(connection) as (...args: unknown[]) => unknown;
    const stopped = (...args: unknown[]) => {
      const text = textOf(args[0]);
      if (text?.includes('pg_try_advisory_xact_lock')) {
        this.backend = (connection as Client & { processID: number }).processID;
      }
      const isOfRun = (connection as Client & { processID: number }).processID === this.backend;
      // A COPY returns its stream at once.
      if (!isOfRun || text === undefined) return query(...args);
      this.statement = text;
      // Without a callback, the caller waits for a promise.
      const result =
        typeof args.at(-1) === 'function'
          ? void (this.resume = () => query(...args))
          : new Promise((resolve) => (this.resume = () => resolve(query(...args))));
      this.onHalt();
      return result;
    };
    connection.query = stopped as Client['query'];
    return connection;
  }
}

/** The text of a statement with a callback; undefined for a stream. */
function textOf(statement: unknown): string | undefined {
  if (typeof statement === 'string') return statement;
  const { text, submit } = statement as QueryConfig & { submit?: unknown };
  return submit === undefined ? text : undefined;
}

async function isBlocked({ db }: TestService, backend: number | undefined): Promise<boolean> {
  if (backend === undefined) return false;
  const { rows } = await db.raw<{ rows: [{ blocked: boolean }] }>(
    'select cardinality(pg_blocking_pids(?)) > 0 as blocked',
    [backend],
  );
  return rows[0].blocked;
}

/** A client that changes products by SQL. */
export class ManualSession {
  private statement: Promise<void> = Promise.resolve();
  isBusy = false;
  /** Errors of the server. */
  readonly errors: unknown[] = [];

  private constructor(
    private readonly service: TestService,
    private readonly client: Client,
    private readonly backend: number,
  ) {}

  static async open(service: TestService): Promise<ManualSession> {
    const client = new Client({ ...service.address, application_name: 'manual' });
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    return new ManualSession(service, client, rows[0]!.pid);
  }

  /** Starts a statement. @returns when it is done, or waits for a lock */
  async execute(sql: string): Promise<void> {
    await this.statement;
    this.isBusy = true;
    this.statement = this.client
      .query(sql)
      .then(
        () => undefined,
        (error: unknown) => void this.errors.push(error),
      )
      .finally(() => (this.isBusy = false));
    await eventually(
      'the statement is done or blocked',
      async () => !this.isBusy || (await isBlocked(this.service, this.backend)),
    );
  }

  /** Waits for the statement in progress. */
  async settled(): Promise<void> {
    await this.statement;
  }

  /** Rolls back an open transaction. Idempotent. */
  async close(): Promise<void> {
    await this.client.end();
  }
}

/** A statement of a manual session. */
export interface ManualStep {
  sql: string;
  /** Whether the step runs now, before `statement`, the run's statement number `count`. */
  isDue: (statement: string, count: number) => boolean;
}

/**
 * Interleaves the steps of a run and of a manual session. A blocked session waits for the run, and vice versa: the session's next
 * steps then come earlier. Remaining steps are taken after the run has ended.
 */
export async function interleave(
  run: SteppedRun,
  session: ManualSession,
  steps: readonly ManualStep[],
): Promise<void> {
  const left = [...steps];
  let state = await run.look();
  for (let count = 0; ;) {
    const [next] = left;
    if (next && !session.isBusy && (state !== 'stopped' || next.isDue(run.statement, count))) {
      left.shift();
      await session.execute(next.sql);
      state = await run.look();
    } else if (state === 'stopped') {
      state = await run.step();
      count++;
    } else if (state === 'ended') {
      await session.settled();
      if (left.length === 0) return;
    } else {
      // Each waits for the other, or the run waits for a lock that the session has just released.
      await eventually('one of the two proceeds', async () => {
        state = await run.look();
        return state !== 'blocked' || !session.isBusy;
      });
    }
  }
}
