import { authenticateAny } from '../../src/keys/authenticate';
import { unavailable } from '../../src/shared/errors';
import type { AddressInfo } from 'node:net';
import { createApp, type App } from '../../src/app';
import { openDatabase, type DatabaseAddress } from '../../src/db/database';
import { createHttpServer } from '../../src/http/server';
import { createLog } from '../../src/shared/log';
import { FileStore } from '../../src/storage/file-store';
import { afterFile } from './after-file';
import { ApiClient } from './api-client';
import { recordResponses } from './coverage';
import { createTestFolder } from './folder';
import { testKey } from './service';
import { proxyOf } from './through-prism';

/**
 * Starts the application against a database that need not be there, or be one at all; it is stopped after the file.
 * Nothing can be run.
 */
export async function startAppAt(
  address: DatabaseAddress,
  pool: { connectionsMax?: number; queryMilliseconds?: number } = {},
): Promise<{ api: ApiClient; url: string; app: App }> {
  const db = openDatabase(address, { applicationName: 'test', connectionsMax: 10, ...pool });
  const claims = openDatabase(address, { applicationName: 'test', connectionsMax: 2 });
  const objectStore = new FileStore(createTestFolder());
  await objectStore.prepare();
  const app = await createApp({
    config: {
      uploadBytesMax: 1024 * 1024,
      defaultCurrency: 'USD',
      servicePages: true,
      rateLimit: undefined,
      concurrentUploads: 10,
      concurrentDownloads: 10,
    },
    authenticate: authenticateAny([testKey], db),
    address,
    db,
    claims,
    objectStore,
    runWorker: {
      run: () => Promise.resolve('unavailable'),
      plan: () => Promise.reject(unavailable('no worker')),
      rejects: () => Promise.reject(unavailable('no worker')),
      wake: () => undefined,
      use: () => ({ working: 0, waiting: 0, pool: { used: 0, free: 0, waiting: 0 } }),
      stopClaiming: () => Promise.resolve(),
    },
    log: createLog(process.env.TEST_LOG_LEVEL ?? 'fatal'),
    verifyResponses: true,
  });
  const server = createHttpServer(app.handle);
  recordResponses(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterFile(async () => {
    server.closeAllConnections();
    server.close();
    await app.drain();
    await claims.destroy();
    await db.destroy();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { api: new ApiClient(url, testKey, await proxyOf(url)), url, app };
}
