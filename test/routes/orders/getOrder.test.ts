import { aTimestamp } from '../../support/expectations';
import { loadProducts } from '../../support/catalog';
import { startTestService, type TestService } from '../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

describe('GET /orders/{order_id}', () => {
  describe('200', () => {
    it('returns the order with its items, in the given order', async () => {
      const { productIds } = await loadProducts(service, [
        { sku: 'TENT-2', product_name: 'Two-person tent', price: '189.9001', currency: 'EUR' },
        { sku: '007', product_name: 'Head lamp', price: '24.5', currency: 'EUR' },
      ]);
      const { body: created } = await service.api.post('/orders', {
        partner_name: 'Café Müller',
        customer_reference: 'PO-2026-0815',
        items: [
          { product_id: productIds[1], quantity: 1 },
          { product_id: productIds[0], quantity: 2 },
          { product_id: productIds[1], quantity: 3 },
        ],
      });

      const { status, body } = await service.api.get(`/orders/${created.order_id}`);

      const lamp = {
        product_id: productIds[1],
        sku: '007',
        product_name: 'Head lamp',
        unit_price: 24.5,
      };
      expect(status).toBe(200);
      expect(body).toEqual({
        order_id: created.order_id,
        partner_name: 'Café Müller',
        customer_reference: 'PO-2026-0815',
        status: 'created',
        total_amount: 477.8002,
        currency: 'EUR',
        created_at: aTimestamp,
        items: [
          { order_item_id: created.items[0].order_item_id, ...lamp, quantity: 1, line_total: 24.5 },
          {
            order_item_id: created.items[1].order_item_id,
            product_id: productIds[0],
            sku: 'TENT-2',
            product_name: 'Two-person tent',
            quantity: 2,
            unit_price: 189.9001,
            line_total: 379.8002,
          },
          { order_item_id: created.items[2].order_item_id, ...lamp, quantity: 3, line_total: 73.5 },
        ],
      });
    });

    it('returns null for an absent customer_reference', async () => {
      const { productIds } = await loadProducts(service, [{ sku: 'A', price: '1' }]);
      const { body: created } = await service.api.post('/orders', {
        partner_name: 'Acme Outdoor',
        items: [{ product_id: productIds[0], quantity: 1 }],
      });

      const { body } = await service.api.get(`/orders/${created.order_id}`);

      expect(body.customer_reference).toBeNull();
    });

    it('finds an order beyond OR99999', async () => {
      const own = await startTestService();
      const { productIds } = await loadProducts(own, [{ sku: 'A', price: '1' }]);
      await own.db.raw("select setval(pg_get_serial_sequence('orders', 'order_id'), 99999)");
      const { body: created } = await own.api.post('/orders', {
        partner_name: 'Acme Outdoor',
        items: [{ product_id: productIds[0], quantity: 1 }],
      });

      const { status, body } = await own.api.get('/orders/OR100000');

      expect(status).toBe(200);
      expect(body).toEqual(created);
      expect((await own.api.get('/orders/OR0100000')).status).toBe(404);
    });
  });

  describe('404', () => {
    beforeAll(async () => {
      const { productIds } = await loadProducts(service, [{ sku: 'SOME', price: '1' }]);
      const { status } = await service.api.post('/orders', {
        partner_name: 'Acme Outdoor',
        items: [{ product_id: productIds[0], quantity: 1 }],
      });
      expect(status).toBe(201);
    });

    it.each([
      'OR99999',
      'OR00000',
      'OR1',
      'OR000001',
      'or00001',
      'OI00001',
      'PR00001',
      '00001',
      'OR00001%00',
      'OR00001%20',
      'OR00001%2F',
      'OR00001%0A',
      'OR0000%EF%BC%91',
      'OR-0001',
      'OR999999999999999',
      'OR9223372036854775808',
      '%7Border_id%7D',
      '%20',
      '%F0%9F%98%80',
    ])('does not find the order %s', async (id) => {
      const { status, body } = await service.api.get(`/orders/${id}`);

      expect(status).toBe(404);
      expect(body).toEqual({ detail: `Order not found: ${decodeURIComponent(id)}` });
    });
  });

  describe('400', () => {
    it('rejects a path that cannot be decoded', async () => {
      const { status, body } = await service.api.get('/orders/%E0%A4%A');

      expect(status).toBe(400);
      expect(body).toEqual({ detail: 'Malformed request path.' });
    });
  });
});
