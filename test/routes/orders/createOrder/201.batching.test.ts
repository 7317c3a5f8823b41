import { createHash, randomUUID } from 'node:crypto';
import { createKeyedOrderBatcher, createOrderBatcher } from '../../../../src/sales/orders/orders.service';
import { loadProducts } from '../../../support/catalog';
import { startTestService, testKey, type TestService } from '../../../support/service';

let service: TestService;
let products: string[];
beforeAll(async () => {
  service = await startTestService();
  ({ productIds: products } = await loadProducts(
    service,
    [
      { sku: 'A', price: '10', currency: 'EUR' },
      { sku: 'B', price: '0.005', currency: 'EUR' },
      { sku: 'C', price: '3', currency: 'CHF' },
    ],
    'Acme',
  ));
});

interface Asked {
  partner_name: string;
  customer_reference?: string;
  items: { product_id: string; quantity: number }[];
}

const kinds: [string, () => Record<string, string>][] = [
  ['without a key', () => ({})],
  ['with a key each', () => ({ 'idempotency-key': randomUUID() })],
];
const item = (at: number, quantity = 1) => ({ product_id: products[at]!, quantity });

describe('concurrent orders', () => {
  it.each(kinds)(
    '%s are created or rejected individually, each with its own items',
    async (_kind, headers) => {
      const before = (await service.db('orders')).length;
      const asked: [Asked, number, unknown][] = Array.from({ length: 40 }, (_, at) => {
        const order = { partner_name: `Partner ${at}`, customer_reference: `ref ${at}` };
        if (at % 4 === 1)
          return [{ ...order, items: [item(0), { product_id: 'PR99999', quantity: 1 }] }, 404, null];
        if (at % 4 === 2) return [{ ...order, items: [item(0), item(2)] }, 400, null];
        return [{ ...order, items: [item(1, at + 1), item(0, 2)] }, 201, 20 + 0.005 * (at + 1)];
      });

      const answers = await Promise.all(
        asked.map(([order]) => service.api.post('/orders', order, headers())),
      );

      answers.forEach(({ status, body }, at) => {
        const [order, expected, total] = asked[at]!;
        expect({ at, status }).toEqual({ at, status: expected });
        if (status !== 201) return;
        expect(body).toMatchObject({ ...order, items: order.items });
        expect(body.total_amount).toBeCloseTo(total as number, 9);
      });
      const ids = answers.flatMap(({ status, body }) => (status === 201 ? [body.order_id as string] : []));
      expect(new Set(ids).size).toBe(20);
      expect(await service.db('orders')).toHaveLength(before + 20);
      for (const id of ids) {
        const at = answers.findIndex(({ body }) => body.order_id === id);
        expect((await service.api.get(`/orders/${id}`)).body).toEqual(answers[at]!.body);
      }
    },
  );

  it.each([
    ['without a key', createUnkeyed],
    ['with a key each', createKeyed],
  ])('%s are created even if the database rejects one of the batch', async (_kind, creator) => {
    // Bypasses validation: an error that only the database finds.
    const create = creator();
    const texts = ['a', 'b', 'c', 'NUL \0', 'd', 'e'];

    const outcomes = await Promise.allSettled(texts.map((text) => create(text)));

    expect(outcomes.map((one) => (one.status === 'fulfilled' ? one.value : 'refused'))).toEqual([
      ...['a', 'b', 'c', 'refused', 'd', 'e'],
    ]);
    await expect(create('NUL \0')).rejects.toThrow(/0x00/);
  });

  it('with keys are created, replayed, in progress or rejected individually', async () => {
    const create = createKeyedOrderBatcher(service.db, 'USD');
    const send = (text: string, digest = 'one', items = requestOf('').items) =>
      create({ ...requestOf(text), items, key: keyOf(text), requestDigest: digestOf(digest) });
    const first = await send('known');

    const outcomes = await Promise.allSettled([
      // The others share the transaction after the one of this request.
      send('a'),
      send('b'),
      send('known'),
      send('known', 'another'),
      send('twice'),
      send('twice'),
      send('unknown product', 'one', [{ productId: 'PR99999', quantity: 1 }]),
      send('c'),
    ]);

    expect(
      outcomes.map((one) =>
        one.status === 'fulfilled'
          ? [one.value.responseBody.customer_reference, one.value.replayed]
          : (one.reason as { code: string }).code,
      ),
    ).toEqual([
      ['a', false],
      ['b', false],
      ['known', true],
      'idempotent_request_in_progress',
      ['twice', false],
      'idempotent_request_in_progress',
      'product_not_found',
      ['c', false],
    ]);
    expect(outcomes[2]).toMatchObject({ value: { responseBody: first.responseBody } });
    await expect(send('known', 'another')).rejects.toMatchObject({ code: 'idempotency_key_used' });
    expect((await send('twice')).replayed).toBe(true);
  });

  it('with keys that two processes receive are created once each', async () => {
    const processes = [
      createKeyedOrderBatcher(service.db, 'USD'),
      createKeyedOrderBatcher(service.db, 'USD'),
    ];
    const texts = Array.from({ length: 200 }, (_, at) => `raced ${at}`);

    const outcomes = await Promise.all(
      texts.map(async (text) => {
        const request = { ...requestOf(text), key: keyOf(text), requestDigest: digestOf(text) };
        return Promise.allSettled(processes.map((create) => create(request)));
      }),
    );

    const references = (await service.db('orders').whereIn('customer_reference', texts)).map(
      (order: { customer_reference: string }) => order.customer_reference,
    );
    expect(references.sort()).toEqual(texts.toSorted());
    for (const both of outcomes) {
      const created = both.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
      expect(created.filter(({ replayed }) => !replayed)).toHaveLength(1);
      expect(new Set(created.map(({ responseBody }) => responseBody.order_id)).size).toBe(1);
      for (const one of both)
        if (one.status === 'rejected')
          expect(one.reason).toMatchObject({ code: 'idempotent_request_in_progress' });
    }
  });

  it('have the same body when they are read, with long numbers and any text', async () => {
    await service.db.raw("select setval(pg_get_serial_sequence('orders', 'order_id'), 123456)");
    await service.db.raw("select setval(pg_get_serial_sequence('order_items', 'order_item_id'), 1234567)");
    const text = '\u0001\b\t\n\f\r\u001f "quoted" \\ / \u007f\u00a0\u2028 😀 <é>';
    const order = {
      partner_name: 'Acme "é" \\ 😀',
      customer_reference: text,
      items: [item(1, 999_999), item(0)],
    };

    for (const [, headers] of kinds) {
      const sent = await fetch(`${service.url}/orders`, {
        method: 'POST',
        headers: { 'x-api-key': testKey, 'content-type': 'application/json', ...headers() },
        body: JSON.stringify(order),
      });
      const read = await fetch(`${service.url}${sent.headers.get('location')}`, {
        headers: { 'x-api-key': testKey },
      });

      expect(sent.status).toBe(201);
      expect(await sent.text()).toBe(await read.text());
    }
  });

  it('with keys take a number of statements that does not grow with the number of orders', async () => {
    const statements: string[] = [];
    const listen = ({ sql }: { sql: string }) => statements.push(sql);
    const create = createKeyed();
    service.db.on('query', listen);

    await Promise.all(Array.from({ length: 101 }, (_, at) => create(`counted ${at}`)));

    service.db.off('query', listen);
    // The first one runs at once, the others in batches of fifty.
    expect(statements.filter((sql) => sql.includes('insert into orders'))).toHaveLength(3);
  });
});

const digestOf = (text: string) => createHash('sha256').update(text).digest();

const keyOf = (text: string) => ({ apiKeyDigest: digestOf('test'), text });

const requestOf = (customerReference: string) => ({
  partnerName: 'Acme',
  customerReference,
  items: [{ productId: products[0]!, quantity: 1 }],
  scope: null,
});

function createUnkeyed() {
  const create = createOrderBatcher(service.db, 'USD');
  return async (reference: string) => (await create(requestOf(reference))).customer_reference;
}

function createKeyed() {
  const create = createKeyedOrderBatcher(service.db, 'USD');
  return async (reference: string) => {
    const request = { ...requestOf(reference), key: keyOf(randomUUID()), requestDigest: digestOf('one') };
    return (await create(request)).responseBody.customer_reference;
  };
}
