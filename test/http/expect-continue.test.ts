import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { filePart, formBody, formType, partnerPart } from '../support/requests';
import { startTestService, testKey, type TestService } from '../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const form = formBody([partnerPart(), filePart()]);

/** Announces a body, and sends it only after 100 Continue. @returns the response, and whether the body was requested */
function announce(
  path: string,
  body: string | Buffer,
  headers: Record<string, string | number> = {},
): Promise<{ status: number; body: unknown; asked: boolean }> {
  return new Promise((resolve, reject) => {
    let asked = false;
    const message = request(`${service.url}${path}`, {
      method: 'POST',
      agent: false,
      headers: {
        'x-api-key': testKey,
        'content-type': formType,
        'content-length': Buffer.byteLength(body),
        expect: '100-continue',
        ...headers,
      },
    });
    message.on('continue', () => {
      asked = true;
      message.end(body);
    });
    message.on('error', reject);
    message.on('response', (response) => {
      text(response).then(
        (answer) => resolve({ status: response.statusCode!, body: JSON.parse(answer) as unknown, asked }),
        reject,
      );
    });
    message.flushHeaders();
  });
}

describe('a client that waits for 100 Continue', () => {
  it.each([
    ['an upload', '/feeds/upload', form, formType, 201],
    ['an inspection', '/feeds/inspect', form, formType, 200],
    ['an order', '/orders', '{"partner_name":"Acme","items":[]}', 'application/json', 400],
  ])('gets 100 Continue for %s', async (_what, path, body, type, status) => {
    expect(await announce(path, body, { 'content-type': type })).toMatchObject({ status, asked: true });
  });

  it.each([
    ['with a wrong key', { 'x-api-key': 'wrong' }, 401],
    ['of another media type', { 'content-type': 'text/csv' }, 415],
    ['that is too large', { 'content-length': 2 ** 40 }, 413],
  ])('never sends an upload %s', async (_what, headers, status) => {
    expect(await announce('/feeds/upload', form, headers)).toMatchObject({ status, asked: false });
  });

  it('never sends an order that is too large', async () => {
    const headers = { 'content-type': 'application/json', 'content-length': 2 ** 21 };

    expect(await announce('/orders', '', headers)).toMatchObject({ status: 413, asked: false });
  });
});
