import type { ApiClient, ApiResponse } from '../../../support/api-client';
import { eventually } from '../../../support/harness';
import { holdOrders } from '../../../support/runs-in-flight';
import { expectReplay, leaveAnsweredLongAgo } from '../../../support/idempotency-keys';
import {
  withStoredKey,
  otherKey,
  startTestService,
  testKey,
  type TestService,
} from '../../../support/service';
import { loadProducts } from '../../../support/catalog';
import { cutConnection, whileWritesDo } from '../../../support/faults';

let service: TestService;
let api: ApiClient;
let productId: string;
let soldOutId: string;
beforeAll(async () => {
  service = await startTestService();
  ({ api } = service);
  const { productIds } = await loadProducts(service, [
    { sku: 'TENT-2', price: '189.90', availability: 'in_stock' },
    { sku: 'STOVE-3', price: '60', availability: 'out_of_stock' },
  ]);
  [productId, soldOutId] = productIds;
});

let keys = 0;
const newKey = () => `key-${++keys}`;

const orderOf = (quantity = 1, product_id = productId) => ({
  partner_name: 'Acme Outdoor',
  customer_reference: 'PO-1',
  items: [{ product_id, quantity }],
});
const order = (key: string, body: unknown = orderOf(), client = api) =>
  client.post('/orders', body, { 'idempotency-key': key });
const orderText = (key: string, text: string) =>
  api.send('POST', '/orders', {
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body: text,
  });

async function orderCount(): Promise<number> {
  return (await service.db('orders').count('* as count'))[0]!.count as number;
}

async function bodyText(key: string, body: unknown): Promise<string> {
  const response = await fetch(`${service.url}/orders`, {
    method: 'POST',
    headers: { 'x-api-key': testKey, 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify(body),
  });
  return response.text();
}

const usedDetail = { detail: 'Idempotency-Key was already used with a different request.' };
function expectUsed({ status, headers, body }: ApiResponse): void {
  expect({ status, body: body as unknown }).toEqual({ status: 422, body: usedDetail });
  expect(headers.get('idempotent-replayed')).toBeNull();
}

describe('POST /orders with an Idempotency-Key', () => {
  describe('the same request again', () => {
    it('gets the first 201 again, and creates nothing', async () => {
      const key = newKey();
      const first = await order(key);
      expect(first.status).toBe(201);
      expect(first.headers.get('idempotent-replayed')).toBeNull();
      const before = await orderCount();

      expectReplay(await order(key), first);
      expectReplay(await order(key), first);
      expect(await orderCount()).toBe(before);
    });

    it('gets the identical body', async () => {
      const key = newKey();
      const body = { ...orderOf(3), customer_reference: '“PO” 1\u2028😀' };

      expect(await bodyText(key, body)).toBe(await bodyText(key, body));
    });

    it('gets the first response, in any state of the products', async () => {
      const { productIds } = await loadProducts(service, [{ sku: 'LATER', price: '10' }]);
      const key = newKey();
      const first = await order(key, orderOf(2, productIds[0]));
      await loadProducts(service, [{ sku: 'LATER', price: '11', availability: 'out_of_stock' }]);

      expectReplay(await order(key, orderOf(2, productIds[0])), first);
    });

    it('is the same request with other order of members, white space and notation of numbers and texts', async () => {
      const key = newKey();
      const first = await orderText(
        key,
        `{"partner_name":"Acme","items":[{"product_id":"${productId}","quantity":1}],"extra":{"a":[0.5,{"b":1,"c":2}]}}`,
      );
      expect(first.status).toBe(201);

      expectReplay(
        await orderText(
          key,
          `{ "extra": {"a": [5e-1, {"c": 2.0, "b": 1}]},\n "items": [{"quantity": 1.0, "product_id": "${productId}"}], "partner_name": "\\u0041cme" }`,
        ),
        first,
      );
    });

    it('creates another order without the key', async () => {
      const first = await order(newKey());

      const second = await api.post('/orders', orderOf());

      expect(second.status).toBe(201);
      expect(second.body.order_id).not.toBe(first.body.order_id);
    });
  });

  describe('another request with the key', () => {
    const others: [string, () => unknown][] = [
      ['another quantity', () => orderOf(2)],
      ['another partner name', () => ({ ...orderOf(), partner_name: 'Birch & Sons' })],
      ['a name that is equal only after trimming', () => ({ ...orderOf(), partner_name: ' Acme Outdoor' })],
      ['a line more', () => ({ ...orderOf(), items: [...orderOf().items, ...orderOf().items] })],
      ['no reference', () => ({ ...orderOf(), customer_reference: undefined })],
      ['null for a reference', () => ({ ...orderOf(), customer_reference: null })],
      ['a field more that is ignored', () => ({ ...orderOf(), note: 'x' })],
      [
        'a member named __proto__ or the like',
        () => JSON.parse(`{"__proto__":{},${JSON.stringify(orderOf()).slice(1)}`),
      ],
      ['what could not be ordered', () => orderOf(1, 'PR99999')],
    ];
    it.each(others)('is rejected, and creates nothing: %s', async (_what, other) => {
      const key = newKey();
      const first = await order(key);
      const before = await orderCount();

      expectUsed(await order(key, other()));
      expect(await orderCount()).toBe(before);
      expectReplay(await order(key), first);
    });

    it('is rejected also if it is an upload', async () => {
      const key = newKey();
      await order(key);
      const form = new FormData();
      form.set('partner_name', 'Acme Outdoor');
      form.set('file', new Blob(['sku,product_name\nA,A\n'], { type: 'text/csv' }), 'feed.csv');

      expectUsed(
        await api.send('POST', '/feeds/upload', { headers: { 'idempotency-key': key }, body: form }),
      );
    });
  });

  describe('the key', () => {
    it('is one per API key', async () => {
      const key = newKey();
      const first = await order(key);
      const theirs = await order(key, orderOf(7), api.withKey(otherKey));

      expect(theirs.status).toBe(201);
      expect(theirs.headers.get('idempotent-replayed')).toBeNull();
      expect(theirs.body.order_id).not.toBe(first.body.order_id);
      expectReplay(await order(key), first);
      expectReplay(await order(key, orderOf(7), api.withKey(otherKey)), theirs);
    });

    it.each([
      ['of one character', 'x'],
      ['of 255 characters', 'k'.repeat(255)],
      ['of any characters that a header takes', `"é', 1; --\t{}`],
    ])('may be a text %s, and case counts', async (_what, key) => {
      const first = await order(key);

      expectReplay(await order(key), first);
      const other = key.replace(/[a-z]/, (letter) => letter.toUpperCase());
      if (other !== key) expect((await order(other)).headers.get('idempotent-replayed')).toBeNull();
    });

    it.each([
      ['', 'string_too_short', 'String should have at least 1 character', { min_length: 1 }],
      ['k'.repeat(256), 'string_too_long', 'String should have at most 255 characters', { max_length: 255 }],
    ])('is rejected when it is empty or too long', async (key, type, msg, ctx) => {
      const { status, body } = await order(key);

      expect({ status, body: body as unknown }).toEqual({
        status: 422,
        body: { detail: [{ type, loc: ['header', 'Idempotency-Key'], msg, input: key, ctx }] },
      });
    });

    it('is reported together with other shape errors', async () => {
      const { body } = await order('', { items: [{ product_id: productId, quantity: 0 }] });

      expect(body.detail.map(({ loc }: { loc: unknown }) => loc)).toEqual(
        expect.arrayContaining([
          ['header', 'Idempotency-Key'],
          ['body', 'partner_name'],
          ['body', 'items', 0, 'quantity'],
        ]),
      );
    });

    it('is checked after the API key and the shape of the body', async () => {
      const key = newKey();
      await order(key);

      expect((await order('', orderOf(), api.withKey('wrong'))).status).toBe(401);
      expect((await order(key, orderOf(), api.withKey('wrong'))).status).toBe(401);
      expect((await order(key, { ...orderOf(), items: [] })).status).toBe(400);
      expect((await orderText(key, '{')).status).toBe(400);
      expect((await order(key, orderOf(0))).body.detail[0].type).toBe('greater_than_equal');
    });

    it('is checked after the 403 of a limited API key', async () => {
      const limited = await withStoredKey(service, 'Acme Outdoor');
      const key = newKey();
      const first = await order(key, orderOf(), limited);
      const foreign = { ...orderOf(), partner_name: 'Birch & Sons' };

      expect((await order(key, foreign, limited)).status).toBe(403);
      expect((await order(newKey(), foreign, limited)).status).toBe(403);
      expectReplay(await order(key, orderOf(), limited), first);
    });

    it('is ignored by operations without it', async () => {
      const key = newKey();
      await order(key);

      for (const [method, path] of [
        ['GET', '/orders'],
        ['HEAD', '/orders'],
        ['GET', '/health'],
        ['GET', '/feeds/profile'],
      ] as const) {
        const { status, headers } = await api.send(method, path, { headers: { 'idempotency-key': key } });
        expect({ path, status }).toEqual({ path, status: 200 });
        expect(headers.get('idempotent-replayed')).toBeNull();
      }
    });
  });

  describe('after a failure', () => {
    it('can be reused, for the same and for another request', async () => {
      const key = newKey();
      expect((await order(key, orderOf(1, soldOutId))).status).toBe(409);
      expect((await order(key, orderOf(1, 'PR99999'))).status).toBe(404);

      const first = await order(key);

      expect(first.status).toBe(201);
      expect(first.headers.get('idempotent-replayed')).toBeNull();
      expectReplay(await order(key), first);
    });

    it.each([
      ['the database connection is lost during the order', cutConnection, 'orders', 'immediate', 503],
      ['the commit fails', "raise exception 'no';", 'orders', 'deferred', 500],
      ['the database goes away when the answer is kept', cutConnection, 'idempotency_keys', 'immediate', 503],
      ['the answer cannot be kept', "raise exception 'no';", 'idempotency_keys', 'immediate', 500],
    ] as const)('creates nothing, and can be reused: %s', async (_what, statement, table, when, status) => {
      const key = newKey();
      const before = await orderCount();

      const failed = await whileWritesDo(service, table, statement, () => order(key), when);

      expect(failed.status).toBe(status);
      expect(await orderCount()).toBe(before);
      const first = await order(key);
      expect(first.status).toBe(201);
      expectReplay(await order(key), first);
      expect(await orderCount()).toBe(before + 1);
    });
  });

  describe('in progress', () => {
    it('is 409 for another request, until the first one ends', async () => {
      const key = newKey();
      const release = await holdOrders(service.address);
      const first = order(key);
      const inProgress = await eventually('the first one holds the key', async () => {
        const answer = await api.post('/orders', orderOf(5), { 'idempotency-key': key });
        return answer.status === 409 && answer;
      });

      expect(inProgress.body).toEqual({
        detail: 'A request with this Idempotency-Key is still in progress.',
      });
      await release();
      expect((await first).status).toBe(201);
      expectReplay(await order(key), await first);
    });

    it('creates one order from fifty concurrent requests', async () => {
      const key = newKey();
      const before = await orderCount();

      const answers = await Promise.all(Array.from({ length: 50 }, () => order(key)));

      expect(await orderCount()).toBe(before + 1);
      const created = answers.filter(({ status }) => status === 201);
      expect(answers.filter(({ status }) => status !== 201 && status !== 409)).toEqual([]);
      expect(created.length).toBeGreaterThan(0);
      expect(created.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1);
      expect(new Set(created.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    });
  });

  describe('after 24 hours', () => {
    it('is new again', async () => {
      const key = newKey();
      const first = await order(key);
      await leaveAnsweredLongAgo(service, key);

      const second = await order(key, orderOf(2));

      expect(second.status).toBe(201);
      expect(second.body.order_id).not.toBe(first.body.order_id);
      expectReplay(await order(key, orderOf(2)), second);
    });

    it('is kept for 24 hours', async () => {
      const key = newKey();
      await order(key);

      const [row] = await service
        .db('idempotency_keys')
        .where('idempotency_key', key)
        .select<{ seconds: number }[]>(
          service.db.raw('cast(extract(epoch from expires_at - now()) as float) as seconds'),
        );

      expect(row?.seconds).toBeGreaterThan(24 * 3600 - 60);
      expect(row?.seconds).toBeLessThanOrEqual(24 * 3600);
    });
  });
});
