import type { ApiResponse } from '../support/api-client';
import { goodCsv } from '../support/requests';
import { startTestService, type TestService } from '../support/service';

let service: TestService;
let productId: string;
beforeAll(async () => {
  service = await startTestService();
  await service.api.loadFeed(goodCsv);
  productId = (await service.api.get('/products')).body.items[0].product_id;
});

const upload = (partnerName: string) => service.api.upload({ partnerName, csv: goodCsv });
const order = (partner_name: string) =>
  service.api.post('/orders', { partner_name, items: [{ product_id: productId, quantity: 1 }] });

/** The name under which an upload or an order is kept. */
async function keptName({ body }: ApiResponse): Promise<string> {
  return body.partner_name ?? (await service.api.get(`/feeds/${body.feed_id}`)).body.partner_name;
}

describe.each([
  ['an upload', upload],
  ['an order', order],
])('the partner_name of %s', (_what, send) => {
  it.each([
    ['  Acme Outdoor ', 'Acme Outdoor'],
    ['\tAcme\r\n', 'Acme'],
    [` ${'😀'.repeat(255)}\u3000`, '😀'.repeat(255)],
    ['\ufeffAcme', 'Acme'],
  ])('is trimmed: %j', async (name, expected) => {
    const response = await send(name);

    expect(response.status).toBe(201);
    expect(await keptName(response)).toBe(expected);
  });

  const pattern = String.raw`^[^\u0000-\u001F\u007F-\u009F]*[^\s\u0000-\u001F\u007F-\u009F][^\u0000-\u001F\u007F-\u009F]*$`;
  const tooShort = {
    type: 'string_too_short',
    msg: 'String should have at least 1 character',
    ctx: { min_length: 1 },
  };
  const tooLong = {
    type: 'string_too_long',
    msg: 'String should have at most 255 characters',
    ctx: { max_length: 255 },
  };
  const mismatch = {
    type: 'string_pattern_mismatch',
    msg: `String should match pattern '${pattern}'`,
    ctx: { pattern },
  };

  it.each([
    ['', tooShort],
    [' \t\u3000', tooShort],
    ['x'.repeat(256), tooLong],
    [` ${'😀'.repeat(256)}`, tooLong],
    ['Acme\u0007Outdoor', mismatch],
    ['Acme\u0085', mismatch],
    ['Acme\u0000', mismatch],
  ])('is refused as it was sent: %j', async (name, error) => {
    const { status, body } = await send(name);

    expect({ status, body: body as unknown }).toEqual({
      status: 422,
      body: { detail: [{ ...error, loc: ['body', 'partner_name'], input: name }] },
    });
  });
});
