import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { openDatabase, type Database, type DatabaseAddress } from '../../src/base/db/database';
import { FileStore } from '../../src/base/storage/file-store';
import { databaseUrl } from '../support/databases';
import { eventually, createTestFolder } from '../support/harness';
import { findBroken } from '../support/service-invariants';
import { Load } from '../support/load';
import { filePart, formBody, partnerPart, OpenUpload } from '../support/requests';
import {
  embeddedAddress,
  postmasters,
  signalDatabase,
  startService,
  startUsedService,
  type ServiceProcess,
} from '../support/process';
import { testKey } from '../support/service';

/** A service with an embedded PostgreSQL, which can be killed, and a service that only connects to it. */
let host: ServiceProcess;
let address: DatabaseAddress;
let service: ServiceProcess;
let folder: string;
let load: Load;

beforeAll(async () => {
  // It has another object store: it must not claim the runs of the other service.
  host = await startUsedService({ QUEUE_WORKER: 'off' });
  address = embeddedAddress(host.dataDir);
  folder = createTestFolder();
  service = await startService({
    env: {
      DATA_DIR: folder,
      DATABASE_URL: databaseUrl(address),
      API_KEYS: testKey,
      SHUTDOWN_SECONDS: '10',
      MAX_CONCURRENT_UPLOADS: '20',
    },
  });
});

const largeCsv = `sku,product_name\n${'TENT-2,Two-person tent\n'.repeat(20_000)}`;

beforeEach(async () => {
  load = await Load.start(() => service.api);
  await someWorkIsDone(20);
});
afterEach(() => load.stop());

async function someWorkIsDone(much: number): Promise<void> {
  const before = load.done;
  await eventually('work is done', () => load.done >= before + much);
}

const health = async () => (await service.api.get('/health')).body.database as string;

async function expectIntact(): Promise<void> {
  await load.stop();
  const db = openDatabase(address, { applicationName: 'test', connectionsMax: 2 });
  try {
    expect(await load.findBroken(db)).toEqual([]);
    await eventually('no run is in progress', () => nothingRuns(db));
    const apis = service.isRunning ? [service.api] : [];
    const system = { db, objectStore: new FileStore(folder), apis };
    expect(await findBroken(system, { orphans: true })).toEqual([]);
  } finally {
    await db.destroy();
  }
}

/** The service recovers runs with lost connections within seconds, and executes requested runs. */
async function nothingRuns(db: Database): Promise<boolean> {
  const unfinished = await db('runs').whereIn('status', ['queued', 'running']).pluck<number[]>('job_id');
  return unfinished.length === 0;
}

describe('under load, PostgreSQL', () => {
  it('terminates every session, five times', async () => {
    const client = new Client(address);
    await client.connect();
    for (let times = 1; times <= 5; times++) {
      await client.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name in ('api', 'etl', 'health')",
      );
      await someWorkIsDone(5);
    }
    await client.end();

    await expectIntact();
  });

  it('is killed with SIGKILL, and restarted by the service', async () => {
    const [killed] = postmasters(host.dataDir);
    process.kill(killed!, 'SIGKILL');

    await eventually(
      'another one serves requests',
      async () => {
        const [server] = postmasters(host.dataDir);
        return server !== undefined && server !== killed && (await health()) === 'connected';
      },
      60,
    );
    await someWorkIsDone(10);
    await expectIntact();
  });

  it('freezes for a while', async () => {
    signalDatabase(host.dataDir, 'SIGSTOP');
    // A health check that already had a connection may still report success.
    await eventually('it is unreachable', async () => (await health()) === 'unreachable');
    signalDatabase(host.dataDir, 'SIGCONT');

    await eventually('it is reachable', async () => (await health()) === 'connected');
    await someWorkIsDone(10);
    await expectIntact();
    // No request waited for long.
    expect(load.answers.get('order 503')).toBeUndefined();
  });
});

describe('under load, SIGTERM', () => {
  it('finishes requests in progress, rejects others, and exits with 0 in time', async () => {
    const form = formBody([partnerPart('In flight'), filePart(largeCsv)]);
    const uploads = Array.from({ length: 5 }, () => new OpenUpload(service));
    await Promise.all(uploads.map((upload) => upload.write(form.subarray(0, form.length - 20))));
    await eventually('they are in flight', () => inFlight() === uploads.length);
    const signalled = performance.now();

    service.kill('SIGTERM');
    await eventually('no new work is taken', () => (load.answers.get('order none') ?? 0) > 0);
    for (const upload of uploads) {
      await upload.write(form.subarray(form.length - 20));
      upload.end();
    }

    const answers = await Promise.all(uploads.map((upload) => upload.response));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
    const { code, stderr } = await service.exit;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(performance.now() - signalled).toBeLessThan(30_000);
    await expectIntact();
  });

  /** Incomplete files, longer than the files of the other clients. */
  function inFlight(): number {
    const unfinished = join(folder, 'objects/unfinished');
    const sizes = readdirSync(unfinished).map(
      (name) => statSync(join(unfinished, name), { throwIfNoEntry: false })?.size,
    );
    return sizes.filter((size) => size !== undefined && size > 100_000).length;
  }
});
