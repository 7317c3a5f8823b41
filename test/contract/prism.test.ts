import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterFile } from '../support/harness';
import { ApiClient } from '../support/api-client';
import { startTestService, testKey } from '../support/service';
import { describeConsumer } from './consumer';
import { startMock } from './prism';
import { PrismClient } from './prism-client';

const startMockClient = async () => new ApiClient(await startMock(), 'any');

describeConsumer('the mock', startMockClient);
describeConsumer('the service, and Prism between them', async () =>
  PrismClient.before((await startTestService()).api),
);

describe('Prism as a mock', () => {
  it('returns the 422 for the shape of an invalid body', async () => {
    const api = await startMockClient();
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
    return PrismClient.before(new ApiClient(url, testKey));
  };
  const healthy = '{"status":"ok","database":"connected"}';

  it.each([
    ['a status', 418, 'application/json', healthy],
    ['a media type', 200, 'text/html', healthy],
    ['a value', 200, 'application/json', '{"status":"fine","database":"connected"}'],
  ])('fails the test for %s that is not declared', async (_, status, type, body) => {
    const api = await answerWith(status, type, body);

    await expect(api.get('/health')).rejects.toThrow('breaks the document');
  });

  it('accepts declared ones', async () => {
    const api = await answerWith(200, 'application/json', healthy);

    expect((await api.get('/health')).status).toBe(200);
  });
});
