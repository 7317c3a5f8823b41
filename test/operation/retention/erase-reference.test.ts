import { rollUpSales } from '../../../src/sales/analytics/sales-rollup';
import { stringifyJson } from '../../../src/base/exact-json';
import { eraseReferences } from '../../../src/operation/retention/erase-reference';
import { insertEndpoint } from '../../../src/webhooks/endpoints.repository';
import { describeEvent } from '../../../src/webhooks/event-data';
import type { ClaimedDelivery } from '../../../src/webhooks/deliveries.repository';
import { loadProducts } from '../../support/catalog';
import type { ApiResponse } from '../../support/api-client';
import { startTestService, testKey, type TestService } from '../../support/service';

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
  const secret = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD';
  await insertEndpoint(service.db, {
    url: 'https://example.org/',
    partner_name: null,
    event_types: null,
    secret,
  });
  await loadProducts(service, [{ sku: 'A', price: '999999999999.9999', currency: 'EUR' }]);
});

/** Sends an order; the same one for the same key. */
function send(reference: string, key: string): Promise<ApiResponse> {
  const items = [{ product_id: 'PR00001', quantity: 3 }];
  const body = { partner_name: 'Acme', customer_reference: reference, items };
  return service.api.post('/orders', body, { 'idempotency-key': key });
}

/** Sends an order like `send`. @returns the text of the response */
async function sendRawText(reference: string, key: string): Promise<string> {
  const items = [{ product_id: 'PR00001', quantity: 3 }];
  const response = await fetch(`${service.url}/orders`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': testKey, 'idempotency-key': key },
    body: JSON.stringify({ partner_name: 'Acme', customer_reference: reference, items }),
  });
  return response.text();
}

/** Searches every table for a text. */
async function tablesWith(text: string): Promise<string[]> {
  const { rows } = await service.db.raw<{ rows: { name: string }[] }>(
    "select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace",
  );
  const found: string[] = [];
  for (const { name } of rows) {
    const hits = await service.db.raw<{ rows: unknown[] }>(
      `select from ${name} as one where position(? in cast(one as text)) > 0`,
      [text],
    );
    if (hits.rows.length > 0) found.push(name);
  }
  return found.sort();
}

describe('erasing the reference of orders', () => {
  it.each<[string, { orderIds: number[] } | { reference: string }]>([
    ['by their numbers', { orderIds: [1, 2] }],
    ['by the reference', { reference: 'Jane Doe' }],
  ])('clears it everywhere %s, and nothing else', async (_what, selection) => {
    const first = await send('Jane Doe', 'first');
    await send('Jane Doe', 'second');
    const other = await send('John Roe', 'third');
    expect(await tablesWith('Jane Doe')).toEqual(['idempotency_keys', 'orders']);

    expect(await eraseReferences(service.db, selection)).toEqual({ orders: 2, replies: 2, unknown: [] });

    expect(await tablesWith('Jane Doe')).toEqual([]);
    const erased = { ...first.body, customer_reference: null };
    expect((await service.api.get('/orders/OR00001')).body).toEqual(erased);
    expect((await service.api.get('/orders/OR00003')).body).toEqual(other.body);
    const replayed = await send('Jane Doe', 'first');
    expect(replayed.headers.get('idempotent-replayed')).toBe('true');
    expect(replayed.body).toEqual(erased);
    expect(await sendRawText('Jane Doe', 'first')).toContain('2999999999999.9997');
    expect((await send('John Roe', 'third')).body).toEqual(other.body);
    expect(await eraseReferences(service.db, selection)).toEqual({ orders: 0, replies: 0, unknown: [] });
  });

  it('clears it in events that were not delivered yet, and in those that are replayed', async () => {
    await send('Jane Doe', 'first');
    await eraseReferences(service.db, { orderIds: [1] });

    const events = await service
      .db('webhook_deliveries')
      .where('event_type', 'order.created')
      .select<ClaimedDelivery[]>();

    expect(events).toHaveLength(1);
    const event = await describeEvent(service.db, events[0]!);
    expect(JSON.parse(stringifyJson(event!))).toMatchObject({
      data: { order_id: 'OR00001', customer_reference: null },
    });
  });

  it('does not change the sales figures', async () => {
    await send('Jane Doe', 'first');
    await rollUpSales(service.db);
    const before = (await service.api.get('/analytics/sales-by-partner')).body;

    await eraseReferences(service.db, { reference: 'Jane Doe' });

    expect(await service.db('sales_changes').pluck('partner_name')).toEqual([]);
    await rollUpSales(service.db);
    expect((await service.api.get('/analytics/sales-by-partner')).body).toEqual(before);
  });

  it('returns unknown orders, and ignores references that are only similar', async () => {
    await send('Jane Doe', 'first');

    const nothing = { orders: 0, replies: 0, unknown: [] };
    expect(await eraseReferences(service.db, { orderIds: [99] })).toEqual({ ...nothing, unknown: [99] });
    expect(await eraseReferences(service.db, { reference: 'jane doe' })).toEqual(nothing);
  });
});
