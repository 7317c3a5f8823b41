import { authenticateConfigured } from '../../src/keys/authenticate';
import type { Document } from 'openapi-backend';
import type { AddressInfo } from 'node:net';
import document from '../../generated/openapi.json';
import type { AllChecks, Handlers } from '../../src/http/contract';
import { RequestLog } from '../../src/http/request-log';
import { createPipeline } from '../../src/http/pipeline';
import { createHttpServer } from '../../src/http/server';
import { createLog } from '../../src/shared/log';
import { afterFile } from './after-file';
import { ApiClient } from './api-client';
import { recordResponses } from './coverage';
import { operations } from './operations';
import { testKey } from './service';
import { proxyOf } from './through-prism';

/** Serves the document with handlers that fail, each in the same way; it is stopped after the file. */
export async function startFailingApp(fail: () => unknown): Promise<ApiClient> {
  const handlers = Object.fromEntries(operations.map(({ operationId }) => [operationId, fail]));
  const log = createLog('silent');
  const route = await createPipeline({
    document: document as unknown as Document,
    handlers: handlers as unknown as Handlers,
    checks: {} as AllChecks,
    authenticate: authenticateConfigured([testKey]),
    delayWrongKey: () => Promise.resolve(),
    countRequest: () => Promise.resolve(),
    uploadBytesMax: 1024 * 1024,
    verifyResponses: true,
    isDraining: () => false,
    log,
    requestLog: new RequestLog(log, []),
  });
  const server = createHttpServer(route);
  recordResponses(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterFile(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return new ApiClient(url, testKey, await proxyOf(url));
}
