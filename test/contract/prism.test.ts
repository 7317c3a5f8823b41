import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterFile } from '../support/harness';
import { ApiClient } from '../support/api-client';
import { documentedResponses, operations } from '../support/contract';
import { readOperations, startMock, startProxy, type Stoppable } from './prism';
import { startTestService, testKey, type TestService } from '../support/service';
import { describeConsumer } from './consumer';

const reading = readOperations();

/** Prism as a mock of the document, or as a proxy before a service; it is stopped after the file. */
async function startPrism(upstream?: string): Promise<string> {
  const document = await reading;
  const prism: Stoppable = await (upstream === undefined
    ? startMock(document)
    : startProxy(document, upstream));
  afterFile(() => prism.stop());
  return prism.url;
}

describeConsumer('the mock', async () => new ApiClient(await startPrism(), 'any'));
describeConsumer('the service', async () => (await startTestService()).api);
describeConsumer('the service, and Prism between them', async () => {
  const { url } = await startTestService();
  return new ApiClient(await startPrism(url), testKey);
});

describe('Prism as a mock', () => {
  const examples = documentedResponses.flatMap(({ operationId, status, mediaType, examples }) =>
    Object.entries(examples).map(([name, example]) => ({ operationId, status, mediaType, name, example })),
  );
  let api: ApiClient;
  beforeAll(async () => {
    api = new ApiClient(await startPrism(), 'any');
  });

  it.each(examples)(
    'returns $operationId $status $name with Prefer',
    async ({ operationId, status, mediaType, name, example }) => {
      const { method, examplePath, exampleBody } = operations.find(
        (operation) => operation.operationId === operationId,
      )!;
      const { headers, body } = exampleBody();
      // The only example of a response has no name there.
      const prefer = `code=${status}${name === 'example' ? '' : `, example=${name}`}`;

      const answer = await api.send(method, examplePath, {
        headers: { ...(headers as object), prefer },
        body,
      });

      expect({ status: answer.status, body: answer.body as unknown }).toEqual({ status, body: example });
      expect(answer.headers.get('content-type')).toBe(mediaType);
    },
  );

  it('requires a key', async () => {
    expect((await api.withKey(undefined).get('/products')).status).toBe(401);
  });

  it("returns the 422 of the request's shape for an invalid body", async () => {
    const answers = [
      await api.post('/orders', { partner_name: 'A' }),
      await api.upload({ partnerName: 'A' }),
    ];

    for (const { status, body } of answers) {
      expect({ status, detail: body.detail as unknown }).toEqual({
        status: 422,
        detail: [expect.objectContaining({ type: 'missing', loc: ['body', 'partner_name'] })],
      });
    }
  });
});

describe('Prism between an integrator and the service', () => {
  let service: TestService;
  let api: ApiClient;
  beforeAll(async () => {
    service = await startTestService();
    await service.api.uploadFeed('sku,product_name\na,A\n');
    api = new ApiClient(await startPrism(service.url), testKey);
  });

  it('finds no violation in error responses', async () => {
    const answers = [
      await api.upload({ partnerName: '', csv: 'a,b\n' }),
      await api.upload({ csv: 'sku,product_name\n' }),
      await api.get('/feeds/FD99999'),
      await api.get('/feeds/FD99999/raw'),
      await api.get('/jobs/JV99999'),
      await api.post('/jobs/JV99999/run'),
      await api.get('/jobs/JV99999/issues'),
      await api.get('/jobs/JV00001/issues?severity=fatal'),
      await api.inspect({ partnerName: 'Acme Outdoor' }),
      await api.post('/jobs/JS00001/plan'),
      await api.post('/jobs/JV99999/plan'),
      await api.get('/jobs/JS00001/rejects.csv'),
      await api.get('/jobs/JV99999/rejects.csv'),
      await api.get('/products?sort_by=x'),
      await api.get('/products?limit=0'),
      await api.get('/products/PR99999'),
      await api.post('/orders', { partner_name: 'A', items: [] }),
      await api.post('/orders', { partner_name: 'A' }),
      await api.post('/orders', { partner_name: 'A', items: [{ product_id: 'PR99999', quantity: 1 }] }),
      await api.get('/orders/OR99999'),
      await api.get('/analytics/sales-over-time?grain=x'),
      await api.withKey('wrong').get('/products'),
    ];

    expect(answers.map((answer) => answer.headers.get('sl-violations'))).toEqual(answers.map(() => null));
    expect(answers.map((answer) => answer.status)).toEqual([
      400, 422, 404, 404, 404, 404, 404, 422, 422, 400, 404, 409, 404, 400, 422, 404, 400, 422, 404, 404, 422,
      401,
    ]);
  });
});

describe('Prism between an integrator and a service that violates the document', () => {
  const answerWith = async (status: number, type: string, body: string): Promise<ApiClient> => {
    const server = createServer((_request, response) => {
      response.writeHead(status, { 'content-type': type, 'x-request-id': 'a' }).end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    afterFile(() => {
      server.closeAllConnections();
      server.close();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return new ApiClient(url, testKey, await startPrism(url));
  };
  const healthy = '{"status":"ok","database":"connected"}';

  it.each([
    ['a status', 418, 'application/json', healthy],
    ['a media type', 200, 'text/html', healthy],
    ['a value', 200, 'application/json', '{"status":"fine","database":"connected"}'],
  ])('fails the test of %s that is not declared', async (_, status, type, body) => {
    const api = await answerWith(status, type, body);

    await expect(api.get('/health')).rejects.toThrow('breaks the document');
  });

  it('lets pass what is', async () => {
    const api = await answerWith(200, 'application/json', healthy);

    expect((await api.get('/health')).status).toBe(200);
  });
});
