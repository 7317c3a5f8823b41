import { randomUUID } from 'node:crypto';
import { createOrderBatcher } from '../../../../src/sales/orders/orders.service';
import { loadProducts } from '../../../support/catalog';
import { startTestService, type TestService } from '../../../support/service';

let service: TestService;
let productId: string;
beforeAll(async () => {
  service = await startTestService();
  ({
    productIds: [productId],
  } = await loadProducts(service, [{ sku: 'A', price: '10', currency: 'EUR' }]));
  // The server decides when transactions conflict; here the reference of an order triggers the error.
  await service.db.raw(`
    create function conflict() returns trigger language plpgsql as $$
    begin
      if new.customer_reference ~ '^(40|57|XX)' then
        raise exception 'as if' using errcode = new.customer_reference;
      end if;
      return new;
    end $$;
    create trigger conflict before insert on orders for each row execute function conflict();
  `);
});

const send = (reference: string, headers: Record<string, string> = {}) =>
  service.api.post(
    '/orders',
    {
      partner_name: 'Acme Outdoor',
      customer_reference: reference,
      items: [{ product_id: productId, quantity: 1 }],
    },
    headers,
  );

describe('POST /orders', () => {
  describe('503', () => {
    it.each([
      ['a deadlock', '40P01'],
      ['a serialization failure', '40001'],
      ['a statement timeout', '57014'],
    ])('is the response to %s, and nothing is stored', async (_what, sqlState) => {
      for (const headers of [{}, { 'idempotency-key': randomUUID() }] as Record<string, string>[]) {
        const { status, headers: sent } = await send(sqlState, headers);

        expect(status).toBe(503);
        expect(sent.get('retry-after')).toMatch(/^[1-9]/);
      }
      expect(await service.db('orders').where('customer_reference', sqlState)).toEqual([]);
    });

    it('leaves the key usable for the next attempt', async () => {
      const headers = { 'idempotency-key': randomUUID() };
      await send('40P01', headers);

      expect((await send('order', headers)).status).toBe(201);
    });

    it('is not returned to other orders of a batch in which one deadlocks', async () => {
      const statuses = await Promise.all(
        ['a', 'b', '40P01', 'c', '40001', 'd'].map(async (text) => (await send(text)).status),
      );

      expect(statuses).toEqual([201, 201, 503, 201, 503, 201]);
    });

    it('is returned to the orders behind one that timed out, without an attempt', async () => {
      const create = createOrderBatcher(service.db, 'USD');
      const before = await service.db('orders');

      // The first one is a batch of its own.
      const outcomes = await Promise.allSettled(
        ['57014', 'behind', 'behind'].map((customerReference) =>
          create({
            partnerName: 'Acme Outdoor',
            customerReference,
            items: [{ productId, quantity: 1 }],
            scope: null,
          }),
        ),
      );

      expect(
        outcomes.map((one) => one.status === 'rejected' && (one.reason as { code: string }).code),
      ).toEqual(['57014', '57014', '57014']);
      expect(await service.db('orders')).toHaveLength(before.length);
    });
  });
});

it('an error of the database that is not a conflict stays 500', async () => {
  expect((await send('XX000')).status).toBe(500);
});
