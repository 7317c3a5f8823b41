import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { FileStore } from '../../src/storage/file-store';
import { Readiness, type Dependencies } from '../../src/telemetry/readiness';
import { closedPort, silentServer } from '../support/network';
import { eventually, createTestFolder } from '../support/harness';
import { startFakeDatabase, shared } from '../support/databases';
import { openTestS3Store } from '../support/s3';

/** What a process has that serves, unless `other` says otherwise. */
async function openReadiness(other: Partial<Dependencies> = {}): Promise<Readiness> {
  const objectStore = new FileStore(createTestFolder());
  await objectStore.prepare();
  const readiness = new Readiness(new AbortController().signal);
  readiness.open({ address: shared().address, objectStore, ...other });
  return readiness;
}

const local = async (port: Promise<number>) => `http://127.0.0.1:${await port}`;

describe('a process', () => {
  it('is starting until it serves, and draining after the signal', async () => {
    const stopping = new AbortController();
    const readiness = new Readiness(stopping.signal);

    expect(await readiness.report()).toEqual({ status: 'starting' });
    readiness.open({ address: shared().address, objectStore: openTestS3Store() });
    expect(await readiness.report()).toEqual({ status: 'ready' });
    stopping.abort();
    expect(await readiness.report()).toEqual({ status: 'draining' });
  });

  it.each<[string, () => Promise<Partial<Dependencies>>, string[]]>([
    [
      'a database that refuses connections',
      async () => ({ address: { host: '127.0.0.1', port: await closedPort() } }),
      ['database'],
    ],
    [
      'a database that does not answer',
      async () => ({ address: { host: '127.0.0.1', port: await silentServer() } }),
      ['database'],
    ],
    [
      'an S3 store that refuses connections',
      async () => ({ objectStore: openTestS3Store({ endpoint: await local(closedPort()) }) }),
      ['object_store'],
    ],
    [
      'an S3 store that does not answer',
      async () => ({ objectStore: openTestS3Store({ endpoint: await local(silentServer()) }) }),
      ['object_store'],
    ],
    [
      'a bucket that does not exist',
      () => Promise.resolve({ objectStore: openTestS3Store({ bucket: 'no-such-bucket' }) }),
      ['object_store'],
    ],
    [
      'neither',
      async () => ({
        address: { host: '127.0.0.1', port: await silentServer() },
        objectStore: openTestS3Store({ endpoint: await local(silentServer()) }),
      }),
      ['database', 'object_store'],
    ],
  ])('is not ready with %s, and says so within two seconds', async (_what, other, missing) => {
    const readiness = await openReadiness(await other());

    const asked = performance.now();
    expect(await readiness.report()).toEqual({ status: 'not_ready', missing });
    expect(performance.now() - asked).toBeLessThan(2_000);
  });

  it('is ready again when its local store is', async () => {
    const dataDir = createTestFolder();
    const objectStore = new FileStore(dataDir);
    await objectStore.prepare();
    const readiness = await openReadiness({ objectStore });
    await rename(join(dataDir, 'objects'), join(dataDir, 'away'));

    expect(await readiness.report()).toEqual({ status: 'not_ready', missing: ['object_store'] });
    await rename(join(dataDir, 'away'), join(dataDir, 'objects'));

    await eventually('it is ready', async () => (await readiness.report()).status === 'ready');
  });

  it('checks its database once for concurrent probes', async () => {
    const database = await startFakeDatabase((connection) => connection.destroy());
    const readiness = await openReadiness({ address: database.address });

    const reports = await Promise.all(Array.from({ length: 50 }, () => readiness.report()));
    await readiness.report();

    expect(reports.every(({ status }) => status === 'not_ready')).toBe(true);
    expect(database.accepted()).toBe(1);
  });
});
