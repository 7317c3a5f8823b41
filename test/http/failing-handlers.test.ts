import type { Document } from 'openapi-backend';
import type { AddressInfo } from 'node:net';
import document from '../../generated/openapi.json';
import type { AllChecks, Handlers } from '../../src/http/contract';
import { createRouter } from '../../src/http/router';
import { createHttpServer } from '../../src/http/server';
import { createLog } from '../../src/log';
import { afterFile } from '../support/after-file';
import { ApiClient } from '../support/api-client';
import { recordResponses } from '../support/coverage';
import { documentedResponses } from '../support/documented';
import { operations } from '../support/operations';

const fallible = operations.filter(({ operationId }) =>
  documentedResponses.some((response) => response.operationId === operationId && response.status === 500),
);

/** Serves the document with handlers that fail, each in the same way. */
async function serveFailing(fail: () => unknown): Promise<ApiClient> {
  const handlers = Object.fromEntries(operations.map(({ operationId }) => [operationId, fail]));
  const route = await createRouter({
    document: document as unknown as Document,
    handlers: handlers as unknown as Handlers,
    checks: {} as AllChecks,
    isValidKey: () => true,
    uploadBytesMax: 1024 * 1024,
    verifyResponses: true,
    isDraining: () => false,
    log: createLog('silent'),
  });
  const server = createHttpServer(route);
  recordResponses(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterFile(() => {
    server.closeAllConnections();
    server.close();
  });
  return new ApiClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 'any');
}

describe.each([
  ['throws', () => Promise.reject(new Error('the secret of row 7'))],
  ['throws what is no error', () => Promise.reject('the secret of row 7')],
  ['answers with a status that is not declared', () => ({ status: 299, headers: {}, body: { secret: 7 } })],
])('a handler that %s', (_, fail) => {
  let api: ApiClient;
  beforeAll(async () => {
    api = await serveFailing(fail);
  });

  it.each(fallible)('makes $title answer 500, and say nothing of it', async (operation) => {
    const { headers, body } = operation.exampleBody();

    const answer = await api.send(operation.method, operation.examplePath, { headers, body });

    expect({ status: answer.status, body: answer.body as unknown }).toEqual({
      status: 500,
      body: { detail: 'Internal server error' },
    });
    expect(answer.headers.get('content-type')).toBe('application/json');
  });
});
