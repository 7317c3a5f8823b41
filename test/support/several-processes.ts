import { openDatabase, type Database, type DatabaseAddress } from '../../src/db/database';
import type { ObjectStore } from '../../src/storage/object-store';
import { afterFile } from './after-file';
import type { ApiClient } from './api-client';
import { createEmptyDatabase, databaseUrl } from './empty-database';
import { eventually } from './eventually';
import { findBroken } from './invariants';
import { startPgBouncer, type PgBouncer } from './pgbouncer';
import { spawnService, startService, type ServiceProcess } from './process';
import { S3Front } from './s3-front';
import { testKey } from './service';

/** How services reach PostgreSQL in the tests of several processes. */
export type Way = 'directly' | 'through PgBouncer';

/** Both, unless there is no PgBouncer here (jest.config.mjs says so) and none is required. */
export const ways: Way[] =
  process.env.PGBOUNCER || process.env.PGBOUNCER_REQUIRED === '1'
    ? ['directly', 'through PgBouncer']
    : ['directly'];

/** So many connections do the processes share: fewer than they open, and more than the transactions that they hold open. */
export const pooledConnections = 12;

/** Processes that share a database and a bucket, and nothing else. */
export class SeveralProcesses {
  readonly apis: ServiceProcess[] = [];
  readonly workers: ServiceProcess[] = [];

  private constructor(
    readonly address: DatabaseAddress,
    /** The tests' own way, past the pooler. */
    readonly db: Database,
    readonly objectStore: ObjectStore,
    /** The settings of every process. */
    readonly env: Record<string, string>,
    readonly pooler: PgBouncer | undefined,
  ) {}

  /** Starts two API processes that leave the queue alone, and so many workers, all at once on an empty database. */
  static async start(way: Way, workers = 2): Promise<SeveralProcesses> {
    const address = await createEmptyDatabase();
    const db = openDatabase(address, { applicationName: 'test', connectionsMax: 4 });
    afterFile(() => db.destroy());
    const pooler = way === 'directly' ? undefined : await startPgBouncer(address, pooledConnections);
    afterFile(() => pooler?.stop());
    const front = await S3Front.open();
    const env = {
      ...front.env,
      DATABASE_URL: databaseUrl({ ...address, ...pooler?.address }),
      API_KEYS: testKey,
      MAX_CONCURRENT_RUNS: '2',
      MAX_CONCURRENT_UPLOADS: '10',
    };
    const processes = new SeveralProcesses(address, db, front.store(), env, pooler);
    await Promise.all([
      ...[0, 1].map((at) => processes.startApi(at)),
      ...Array.from({ length: workers }, (_, at) => processes.startWorker(at)),
    ]);
    return processes;
  }

  /** Clients of the two API processes. */
  get clients(): [ApiClient, ApiClient] {
    return [this.apis[0]!.api, this.apis[1]!.api];
  }

  /** Starts an API process in this place. */
  async startApi(at: number): Promise<void> {
    this.apis[at] = await startService({ env: { ...this.env, QUEUE_WORKER: 'off' } });
  }

  /** Starts a worker in this place. */
  async startWorker(at: number): Promise<void> {
    const worker = spawnService({ role: 'worker', env: { ...this.env, METRICS_PORT: '0' } });
    this.workers[at] = worker;
    await eventually(
      'the worker works',
      () => {
        if (!worker.isRunning) throw new Error(`The worker has ended.\n${worker.stdout}`);
        return worker.stdout.includes('working on queued runs');
      },
      60,
    );
  }

  /** The place of the worker that is amid a run. */
  workerAtWork(): Promise<number> {
    return eventually(
      'a worker is amid a run',
      async () => {
        const at = await this.findWorkerAtWork();
        return at !== -1 && at;
      },
      60,
    );
  }

  private async findWorkerAtWork(): Promise<number> {
    const running = await Promise.all(
      this.workers.map(async ({ operatorUrl, isRunning }) => {
        if (!isRunning) return false;
        const metrics = await (await fetch(`${operatorUrl}/metrics`)).text();
        return /^catalog_etl_tasks\{state="working"\} [1-9]/m.test(metrics);
      }),
    );
    return running.indexOf(true);
  }

  /** Stops all of them. @returns what each has ended with */
  async stop(): Promise<(number | null)[]> {
    const exits = await Promise.all([...this.apis, ...this.workers].map((process) => process.stop()));
    return exits.map(({ code }) => code);
  }

  /** Says what is broken when nothing is being done; processes may have been killed. */
  findBroken(): Promise<string[]> {
    const { db, objectStore, pooler } = this;
    const system = { db, objectStore, apis: this.clients };
    return findBroken(system, { orphans: true, pooled: pooler !== undefined });
  }
}
