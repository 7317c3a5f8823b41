import type { ApiClient } from '../support/api-client';
import { documentedResponses, expectSecurityHeaders, operations } from '../support/contract';
import { startFailingApp } from '../support/service';

const fallible = operations.filter(({ operationId }) =>
  documentedResponses.some((response) => response.operationId === operationId && response.status === 500),
);

describe.each([
  ['throws', () => Promise.reject(new Error('the secret of row 7'))],
  ['throws a value that is not an error', () => Promise.reject('the secret of row 7')],
  ['replies with an undeclared status', () => ({ status: 299, headers: {}, body: { secret: 7 } })],
])('a handler that %s', (_, fail) => {
  let api: ApiClient;
  beforeAll(async () => {
    api = await startFailingApp(fail);
  });

  it.each(fallible)('makes $title respond 500 without the cause', async (operation) => {
    const { headers, body } = operation.exampleBody();

    const answer = await api.send(operation.method, operation.examplePath, { headers, body });

    expect({ status: answer.status, body: answer.body as unknown }).toEqual({
      status: 500,
      body: { detail: 'Internal server error' },
    });
    expect(answer.headers.get('content-type')).toBe('application/json');
    expectSecurityHeaders(answer.headers);
  });
});
