import { insertKey } from '../../src/http/keys/keys.repository';
import { digestOf, generateKey } from '../../src/base/key-format';
import { listNamesOutsideNfc } from '../../src/catalog/partners/stored-partner-name';
import type { ApiResponse } from '../support/api-client';
import { loadProducts } from '../support/catalog';
import { filePart, goodCsv, partnerPart, uploadParts } from '../support/requests';
import { startTestService, type TestService } from '../support/service';
import { stored } from '../support/stored-uploads';

let service: TestService;
let productId: string;
beforeAll(async () => {
  service = await startTestService();
  await service.api.loadFeed(goodCsv);
  productId = (await service.api.get('/products')).body.items[0].product_id;
});

const upload = (partnerName: string) => uploadParts(service.api, partnerPart(partnerName), filePart());
const order = (partner_name: string) =>
  service.api.post('/orders', { partner_name, items: [{ product_id: productId, quantity: 1 }] });

/** The stored name of an upload or an order. */
async function keptName({ body }: ApiResponse): Promise<string> {
  return body.partner_name ?? (await service.api.get(`/feeds/${body.feed_id}`)).body.partner_name;
}

const everything = async () => [await stored(service), await service.db('orders').pluck('order_id')];

describe.each([
  ['an upload', upload],
  ['an order', order],
])('the partner_name of %s', (_what, send) => {
  it.each([
    ['  Acme Outdoor ', 'Acme Outdoor'],
    ['\tAcme\r\n', 'Acme'],
    ['\u00a0\u3000Acme\u2003', 'Acme'],
    ['\ufeffAcme', 'Acme'],
    ['Acme  Outdoor', 'Acme  Outdoor'],
    [` ${'x'.repeat(255)} `, 'x'.repeat(255)],
    [` ${'😀'.repeat(255)}\u3000`, '😀'.repeat(255)],
    [
      `'; drop table feeds; -- "\\" :partnerName ? ?? $1 %s`,
      `'; drop table feeds; -- "\\" :partnerName ? ?? $1 %s`,
    ],
  ])('is stored exactly, except for trimmed white space: %j', async (name, expected) => {
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
    [' ', tooShort],
    ['\t\r\n', tooShort],
    ['\u00a0\u2003\u3000', tooShort],
    ['x'.repeat(256), tooLong],
    [` ${'x'.repeat(256)} `, tooLong],
    ['😀'.repeat(256), tooLong],
    ...['\0', '\u0007', '\t', '\n', '\r\n', '\u001b', '\u007f', '\u0085', '\u009f'].map(
      (control) => [`Ac${control}me`, mismatch] as const,
    ),
    ['Acme\0', mismatch],
    ['Acme\u0085', mismatch],
  ] as const)('is rejected as it was sent, without effect: %j', async (name, error) => {
    const before = await everything();

    const { status, body } = await send(name);

    expect({ status, body: body as unknown }).toEqual({
      status: 422,
      body: { detail: [{ ...error, loc: ['body', 'partner_name'], input: name }] },
    });
    expect(await everything()).toEqual(before);
  });
});

describe('the name of a partner', () => {
  let pairs = 0;
  /** Two Unicode forms of a name that no other test uses. */
  const newPair = () => {
    const rest = `cme ${++pairs}`;
    return { composed: `\u00c1${rest}`, decomposed: `A\u0301${rest}` };
  };
  const query = (name: string) => `partner_name=${encodeURIComponent(name)}`;

  async function keyOf(partnerName: string) {
    const key = generateKey();
    await insertKey(service.db, { key_name: key, key_digest: digestOf(key), partner_name: partnerName });
    return service.api.withKey(key);
  }

  it('is normalized to NFC, in uploads, orders, filters and with bound keys', async () => {
    const { composed, decomposed } = newPair();
    const { productIds, feedId } = await loadProducts(service, [{ sku: 'TENT-2', price: '5' }], composed);
    const items = [{ product_id: productIds[0], quantity: 1 }];
    const bound = await keyOf(composed);

    const second = await bound.upload({ partnerName: decomposed, csv: goodCsv });
    expect(second.status).toBe(201);
    expect((await service.api.get(`/feeds/${second.body.feed_id}`)).body.partner_name).toBe(composed);
    const ordered = await bound.post('/orders', { partner_name: decomposed, items });
    expect(ordered).toMatchObject({ status: 201, body: { partner_name: composed } });
    expect((await service.api.get(`/products?${query(decomposed)}`)).body.items[0].feed_id).toBe(feedId);
    expect((await service.api.get(`/orders?${query(decomposed)}`)).body.count).toBe(1);
    const names = service.db('partners').whereIn('partner_name', [composed, decomposed]);
    expect(await names.pluck('partner_name')).toEqual([composed]);
    expect(await listNamesOutsideNfc(service.db)).not.toContain(decomposed);
  });

  it.each(['partners', 'orders', 'api_keys'])(
    'that is stored in another form stays separate: in %s',
    async (where) => {
      const { composed, decomposed } = newPair();
      await service.api.loadFeed(goodCsv, composed);
      if (where === 'partners') await service.db('partners').insert({ partner_name: decomposed });
      if (where === 'orders') {
        await service.db('orders').insert({ partner_name: decomposed, currency: 'EUR', total_amount: '0' });
      }
      const bound = await keyOf(where === 'api_keys' ? decomposed : composed);

      expect(await listNamesOutsideNfc(service.db)).toContain(decomposed);
      expect((await service.api.get(`/products?${query(decomposed)}`)).body.count).toBe(0);
      expect((await service.api.get(`/products?${query(composed)}`)).body.count).toBe(1);
      const { status } = await bound.upload({ partnerName: decomposed, csv: goodCsv });
      expect(status).toBe(where === 'api_keys' ? 201 : 403);
    },
  );
});
