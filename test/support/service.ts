import type { AddressInfo } from 'node:net';
import { createApp } from '../../src/app';
import type { Database, DatabaseAddress } from '../../src/db/database';
import { openRejects } from '../../src/etl/rejects';
import { planFeed } from '../../src/etl/plan-feed';
import { runFeed, type RunContext } from '../../src/etl/run-feed';
import { createHttpServer } from '../../src/http/server';
import { createLog } from '../../src/log';
import { FileStore } from '../../src/storage/file-store';
import type { ObjectStore } from '../../src/storage/object-store';
import { afterFile } from './after-file';
import { ApiClient } from './api-client';
import { createTestDatabase } from './database';
import { createTestFolder } from './folder';

/** The whole application on a database and an object store of its own, and a client with a valid key. */
export interface TestService {
  api: ApiClient;
  url: string;
  db: Database;
  address: DatabaseAddress;
  objectStore: ObjectStore;
  /** Where the local object store keeps its objects; empty when another store was given. */
  dataDir: string;
  /** Runs a job in this thread, as the ETL thread would. */
  run: (jobId: number) => ReturnType<typeof runFeed>;
}

export const testKey = 'test-key';

/**
 * Starts the application on a free port; it is stopped after the file. Responses that break the document become 500s.
 * Show what it logs with TEST_LOG_LEVEL=debug.
 */
export async function startTestService(
  options: {
    objectStore?: ObjectStore;
    uploadBytesMax?: number;
    defaultCurrency?: string;
    servicePages?: boolean;
    requestIdleMilliseconds?: number;
  } = {},
): Promise<TestService> {
  const { address, db } = await createTestDatabase();
  const dataDir = options.objectStore ? '' : createTestFolder();
  const objectStore = options.objectStore ?? new FileStore(dataDir);
  await objectStore.prepare();
  const log = createLog(process.env.TEST_LOG_LEVEL ?? 'fatal');
  const context: RunContext = { db, objectStore, log };
  const run = (jobId: number) => runFeed(jobId, context);

  const app = await createApp({
    config: {
      uploadBytesMax: options.uploadBytesMax ?? 64 * 1024 * 1024,
      defaultCurrency: options.defaultCurrency ?? 'USD',
      servicePages: options.servicePages ?? true,
    },
    apiKeys: [testKey],
    address,
    db,
    objectStore,
    runner: {
      run,
      plan: (jobId, page) => planFeed(jobId, page, context),
      rejects: (request) => openRejects(request, context),
    },
    log,
    verifyResponses: true,
  });
  const server = createHttpServer(app.handle, options.requestIdleMilliseconds);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterFile(async () => {
    server.closeAllConnections();
    server.close();
    await app.drain();
    objectStore.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { api: new ApiClient(url, testKey), url, db, address, objectStore, dataDir, run };
}
