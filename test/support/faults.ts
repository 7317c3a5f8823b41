import { openDatabase, type Database, type DatabaseAddress } from '../../src/base/db/database';
import { localProducts } from '../../src/base/db/layout/distributed-tables';
import type { ObjectStore } from '../../src/base/storage/object-store';
import { afterFile, eventually } from './harness';
import type { ApiClient } from './api-client';
import {
  administer,
  createEmptyDatabase,
  databaseUrl,
  openDatabaseLine,
  type DatabaseLine,
} from './databases';
import { findBroken } from './service-invariants';
import { isDistributed } from './distributed-writes';
import { startPgBouncer, type PgBouncer } from './pgbouncer';
import { spawnService, startService, type ServiceProcess } from './process';
import { S3Front } from './s3';
import { testKey, type TestService } from './service';
import { createServer, request as sendRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Maximum connections of the pooler: fewer than the processes open, more than their open transactions. */
export const pooledConnections = 12;

/** Processes that share only a database and a bucket. */
export class SeveralProcesses {
  readonly apis: ServiceProcess[] = [];
  readonly workers: ServiceProcess[] = [];

  private constructor(
    readonly address: DatabaseAddress,
    /** The test's own connection, without the pooler. */
    readonly db: Database,
    readonly objectStore: ObjectStore,
    readonly env: Record<string, string>,
    readonly pooler: PgBouncer | undefined,
    /** The second API process connects to PostgreSQL through this, without a pooler. */
    readonly line: DatabaseLine | undefined,
  ) {}

  /** Starts two API processes without a queue worker and `workers` workers concurrently on an empty database. */
  static async start({ isPooled = false, workers = 0 } = {}): Promise<SeveralProcesses> {
    const address = await createEmptyDatabase();
    // The default: PostgreSQL checks the client connection only when a statement has ended.
    await administer(`alter database ${address.database} set client_connection_check_interval = 0`);
    const db = openDatabase(address, { applicationName: 'test', connectionsMax: 4 });
    afterFile(() => db.destroy());
    const pooler = isPooled ? await startPgBouncer(address, pooledConnections) : undefined;
    afterFile(() => pooler?.stop());
    const line = isPooled ? undefined : await openDatabaseLine(address);
    const front = await S3Front.open();
    const env = {
      ...front.env,
      DATABASE_URL: databaseUrl({ ...address, ...pooler?.address }),
      API_KEYS: testKey,
      MAX_CONCURRENT_RUNS: '2',
      MAX_CONCURRENT_UPLOADS: '10',
    };
    const processes = new SeveralProcesses(address, db, front.store(), env, pooler, line);
    await Promise.all([
      ...[0, 1].map((at) => processes.startApi(at)),
      ...Array.from({ length: workers }, (_, at) => processes.startWorker(at)),
    ]);
    return processes;
  }

  get clients(): [ApiClient, ApiClient] {
    return [this.apis[0]!.api, this.apis[1]!.api];
  }

  /** Starts an API process at this index. */
  async startApi(at: number): Promise<void> {
    // The line matches texts of statements, which prepared statements send only once.
    const line = at === 1 &&
      this.line && { DATABASE_URL: this.line.url, DATABASE_PREPARED_STATEMENTS: 'off' };
    this.apis[at] = await startService({ env: { ...this.env, ...line, QUEUE_WORKER: 'off' } });
  }

  /** Starts a worker at this index. */
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

  /** The index of the only worker with a run in progress. Another one may look busy too, while it tries to claim the same run. */
  workerAtWork(): Promise<number> {
    return eventually('one worker has a run in progress', async () => {
      const working = await this.findWorking();
      return working.length === 1 && working[0]!;
    });
  }

  /** The indexes of workers that have a run in progress, or try to claim one. */
  private async findWorking(): Promise<number[]> {
    const isWorking = await Promise.all(
      this.workers.map(async ({ operatorUrl, isRunning }) => {
        if (!isRunning) return false;
        const metrics = await (await fetch(`${operatorUrl}/metrics`)).text();
        return /^catalog_etl_tasks\{state="working"\} [1-9]/m.test(metrics);
      }),
    );
    return isWorking.flatMap((works, at) => (works ? [at] : []));
  }

  /** Stops all of them. @returns their exit codes */
  async stop(): Promise<(number | null)[]> {
    const exits = await Promise.all([...this.apis, ...this.workers].map((process) => process.stop()));
    return exits.map(({ code }) => code);
  }

  /** Finds problems after all work is done; processes may have been killed. */
  findBroken(): Promise<string[]> {
    const { db, objectStore, pooler } = this;
    const system = { db, objectStore, apis: this.clients };
    return findBroken(system, { orphans: true, pooled: pooler !== undefined });
  }
}

/**
 * The fate of a request. It passes; the connection is cut before the service receives the request (`hang up`) or after the
 * service has responded (`lose answer`); a stub responds, before the body is read or instead of the service.
 */
export type Fate =
  'pass' | 'hang up' | 'lose answer' | { lose: 'answer'; instead: FrontAnswer } | FrontAnswer;

interface FrontAnswer {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
}

/** A proxy in front of the service that makes requests fail. */
export class ServiceFront {
  /** Requests of the API so far: `POST /feeds/upload`. */
  readonly seen: string[] = [];

  private constructor(
    readonly url: string,
    private readonly service: string,
    private readonly fateOf: (request: string, time: number) => Fate,
  ) {}

  /**
   * Opens it until the file ends. @param fateOf - gets the method and path of a request, and its number of occurrences, from 1
   */
  static async open(service: string, fateOf: (request: string, time: number) => Fate): Promise<ServiceFront> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    afterFile(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    const { port } = server.address() as AddressInfo;
    const front = new ServiceFront(`http://127.0.0.1:${port}`, service, fateOf);
    const serve = (request: IncomingMessage, response: ServerResponse) => front.serve(request, response);
    server.on('request', serve);
    // Otherwise Node requests the body automatically.
    server.on('checkContinue', serve);
    return front;
  }

  private serve(request: IncomingMessage, response: ServerResponse): void {
    const name = `${request.method!} ${request.url!}`;
    // Each command asks for the version of the service, too.
    if (!request.url!.startsWith('/cli/')) this.seen.push(name);
    const fate = this.fateOf(name, this.seen.filter((each) => each === name).length);
    if (fate === 'hang up') request.socket.destroy();
    else if (fate === 'pass')
      this.pass(request, response, (answer) => {
        response.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(response);
      });
    else if (fate === 'lose answer')
      this.pass(request, response, (answer) => answer.resume().on('end', () => request.socket.destroy()));
    else if ('instead' in fate)
      this.pass(request, response, (answer) => answer.resume().on('end', () => send(response, fate.instead)));
    else send(response, fate);
  }

  private pass(
    request: IncomingMessage,
    response: ServerResponse,
    onAnswer: (answer: IncomingMessage) => void,
  ): void {
    const { method, headers, url } = request;
    const passed = sendRequest(this.service + url!, { method, headers, agent: false }, onAnswer);
    passed.on('continue', () => response.writeContinue());
    passed.on('error', () => request.socket.destroy());
    request.on('close', () => {
      if (!request.complete) passed.destroy();
    });
    request.pipe(passed);
    passed.flushHeaders();
  }
}

function send(response: ServerResponse, { status, headers, body }: FrontAnswer): void {
  response.writeHead(status, { connection: 'close', ...headers });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}

/** A statement in PL/pgSQL that cuts the connection that executes it. */
export const cutConnection = 'perform pg_terminate_backend(pg_backend_pid());';

/**
 * Makes the database execute a statement for each row that is written to `table` during `work`.
 * @param statement - in PL/pgSQL, for example `raise exception 'no';`
 * @param when - `deferred`: at the commit
 */
export async function whileWritesDo<T>(
  { db }: TestService,
  table: 'partners' | 'products' | 'validation_jobs' | 'orders' | 'idempotency_keys',
  statement: string,
  work: () => Promise<T>,
  when: 'immediate' | 'deferred' = 'immediate',
): Promise<T> {
  // Distributed products are written through a table like the local one, with its triggers.
  const written = table === 'products' && (await isDistributed(db)) ? localProducts : table;
  await db.raw(`
    create function on_write() returns trigger language plpgsql as $$ begin ${statement} return new; end $$;
    create constraint trigger on_write after insert or update on ${written}
      deferrable initially ${when} for each row execute function on_write();
  `);
  try {
    return await work();
  } finally {
    await db.raw(`drop trigger on_write on ${written}; drop function on_write();`);
  }
}

const run = promisify(execFile);

/**
 * Makes the disk below a folder small, so that writes really fail. With the right to mount, it is a small file system, which is
 * full when its files together reach the size (ENOSPC); else no file that this process writes may reach the size (EFBIG). It is
 * restored after the file.
 * @returns a function that restores it, and removes the written files
 */
export async function limitDisk(folder: string, bytes: number): Promise<() => Promise<void>> {
  let undo = async () => {
    await run('umount', ['--lazy', folder]);
  };
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${bytes},mode=0700`, 'tmpfs', folder]);
  } catch {
    const limit = (value: string) => run('prlimit', ['--pid', String(process.pid), `--fsize=${value}`]);
    // Only the soft limit: without the right to mount, a hard limit cannot be raised again.
    await limit(`${bytes}:`);
    undo = async () => {
      await limit('unlimited:');
    };
  }
  let isUndone = false;
  const once = async () => {
    if (isUndone) return;
    isUndone = true;
    await undo();
  };
  afterFile(once);
  return once;
}
