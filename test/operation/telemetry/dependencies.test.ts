import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { createLog } from '../../../src/base/log';
import { FileStore } from '../../../src/base/storage/file-store';
import {
  dependencyLimits,
  startDependencyMeter,
  type Dependencies,
  type DependencyStates,
} from '../../../src/operation/telemetry/dependencies';
import { closedPort, silentServer } from '../../support/network';
import { afterFile, createTestFolder, eventually } from '../../support/harness';
import { shared } from '../../support/databases';
import { openTestS3Store } from '../../support/s3';

/** Starts checks of dependencies that work, unless `other` overrides one. */
async function start(other: Partial<Dependencies> = {}) {
  const objectStore = new FileStore(createTestFolder());
  await objectStore.prepare();
  const dependencies = { address: shared().address, objectStore, ...other };
  const meter = startDependencyMeter(dependencies, createLog('silent'));
  afterFile(() => meter.stop());
  return { latest: meter.latest, next: () => eventually('they are checked', () => meter.latest() ?? false) };
}

const local = async (port: Promise<number>) => `http://127.0.0.1:${await port}`;

describe('the checks of dependencies', () => {
  it('report that they work', async () => {
    expect(await (await start({ objectStore: openTestS3Store() })).next()).toEqual({
      database: true,
      objectStore: true,
    });
  });

  it.each<[string, () => Promise<Partial<Dependencies>>, DependencyStates]>([
    [
      'a database that refuses connections',
      async () => ({ address: { host: '127.0.0.1', port: await closedPort() } }),
      { database: false, objectStore: true },
    ],
    [
      'a database that does not answer',
      async () => ({ address: { host: '127.0.0.1', port: await silentServer() } }),
      { database: false, objectStore: true },
    ],
    [
      'an S3 store that refuses connections',
      async () => ({ objectStore: openTestS3Store({ endpoint: await local(closedPort()) }) }),
      { database: true, objectStore: false },
    ],
    [
      'an S3 store that does not answer',
      async () => ({ objectStore: openTestS3Store({ endpoint: await local(silentServer()) }) }),
      { database: true, objectStore: false },
    ],
    [
      'a bucket that does not exist',
      () => Promise.resolve({ objectStore: openTestS3Store({ bucket: 'no-such-bucket' }) }),
      { database: true, objectStore: false },
    ],
    [
      'neither',
      async () => ({
        address: { host: '127.0.0.1', port: await silentServer() },
        objectStore: openTestS3Store({ endpoint: await local(silentServer()) }),
      }),
      { database: false, objectStore: false },
    ],
  ])('report %s at their timeout', async (_what, other, states) => {
    jest.replaceProperty(dependencyLimits, 'checkMilliseconds', 500);

    expect(await (await start(await other())).next()).toEqual(states);
  });

  it('report that a local store works again', async () => {
    jest.replaceProperty(dependencyLimits, 'pauseMilliseconds', 50);
    const dataDir = createTestFolder();
    const objectStore = new FileStore(dataDir);
    await objectStore.prepare();
    const { latest } = await start({ objectStore });
    await rename(join(dataDir, 'objects'), join(dataDir, 'away'));
    await eventually('it is not usable', () => latest()?.objectStore === false);
    await rename(join(dataDir, 'away'), join(dataDir, 'objects'));

    await eventually('it is usable', () => latest()?.objectStore === true);
  });

  it('end a check of a store that ignores its signal', async () => {
    jest.replaceProperty(dependencyLimits, 'checkMilliseconds', 50);
    const objectStore = { check: () => new Promise<void>(() => undefined) };

    expect(await (await start({ objectStore })).next()).toEqual({ database: true, objectStore: false });
  });
});
