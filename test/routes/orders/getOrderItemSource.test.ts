import { removePartner } from '../../../src/operation/retention/remove-partner';
import { S3Front } from '../../support/s3';
import { startTestService, withStoredKey, type TestService } from '../../support/service';
import { pruneFiles, sourceIn, sourceWithoutFile } from '../../support/provenance';

const head = 'sku;product_name;price;availability\r\n';
const tent = 'TENT;"Two-person\r\ntent; 😀";189.90;in_stock';
const lamp = 'LAMP;Lämpchen;24.50;in_stock';
const file = `${head}\r\n${tent}\r\n${lamp}\r\n`;

const serviceOn = {
  'the local store': () => startTestService(),
  S3: async () => startTestService({ objectStore: (await S3Front.open()).store() }),
};

interface Order {
  order_id: string;
  items: { order_item_id: string }[];
}

async function order({ api }: TestService, partnerName: string, ...skus: string[]): Promise<Order> {
  const items = [];
  for (const sku of skus) {
    const { body } = await api.get(`/products?sku=${sku}`);
    items.push({ product_id: body.items[0].product_id as string, quantity: 1 });
  }
  const { status, body } = await api.post('/orders', { partner_name: partnerName, items });
  expect(status).toBe(201);
  return body as Order;
}

const path = ({ order_id, items }: Order, at = 0) =>
  `/orders/${order_id}/items/${items[at]!.order_item_id}/source`;

describe.each(Object.entries(serviceOn))('the source of an order item on %s', (_name, start) => {
  let service: TestService;
  beforeEach(async () => {
    service = await start();
  });

  it('is the record that gave the product its values at that time, also after later feeds', async () => {
    const { feedId } = await service.api.loadFeed(file);
    const created = await order(service, 'Buyer', 'LAMP', 'TENT');
    const cheaper = file.replaceAll('189.90', '1').replaceAll('24.50', '1');
    const later = await service.api.loadFeed(cheaper);
    await service.api.loadFeed(`${head}${lamp}\r\n`);
    const second = await order(service, 'Buyer', 'TENT');

    const sources = [];
    for (const item of [path(created, 0), path(created, 1), path(second)]) {
      const { status, body } = await service.api.get(item);
      sources.push({ status, body: body as unknown });
    }

    expect(sources).toEqual([
      { status: 200, body: sourceIn(feedId, file, lamp) },
      { status: 200, body: sourceIn(feedId, file, tent) },
      { status: 200, body: sourceIn(later.feedId, cheaper, tent.replace('189.90', '1')) },
    ]);
  });

  it('keeps its digests when the file is removed, even if no product refers to it any more', async () => {
    const { feedId } = await service.api.loadFeed(file);
    const created = await order(service, 'Buyer', 'TENT');
    await service.api.loadFeed(file.replaceAll('189.90', '1').replaceAll('24.50', '1'));

    expect(await pruneFiles(service)).toBe(1);

    expect((await service.api.get(path(created))).body).toEqual(
      sourceWithoutFile(feedId, file, tent, 'kept'),
    );
  });

  it('has no digest of the record if the removed file was not the uploaded one', async () => {
    const { feedId } = await service.api.loadFeed(file);
    const created = await order(service, 'Buyer', 'TENT');
    await service.api.loadFeed(file.replaceAll('189.90', '1'));
    const [key] = await service.db('feeds').where('feed_id', 1).pluck<string[]>('raw_file_object_key');
    const other = Buffer.from(file.replace('189.90', '199.90'));
    await service.objectStore.put(
      key!,
      (async function* () {
        yield await Promise.resolve(other);
      })(),
      'text/csv',
    );

    expect(await pruneFiles(service)).toBe(1);

    expect((await service.api.get(path(created))).body).toEqual(
      sourceWithoutFile(feedId, file, tent, 'unknown'),
    );
  });
});

describe('GET /orders/{order_id}/items/{order_item_id}/source', () => {
  let service: TestService;
  beforeEach(async () => {
    service = await startTestService();
    await service.api.loadFeed(file, 'Own');
  });

  it('names only the feed after the partner of the product was removed', async () => {
    const created = await order(service, 'Buyer', 'TENT');
    await removePartner(service.db, 'Own');

    expect(await service.api.get(path(created))).toMatchObject({
      status: 200,
      body: {
        feed_id: 'FD00001',
        file_sha256: null,
        record_sha256: null,
        record_base64: null,
        record_text: null,
        encoding: null,
      },
    });
  });

  it('has only nulls for an item that an earlier release created', async () => {
    const created = await order(service, 'Buyer', 'TENT');
    await service.db('order_items').update({ run_id: null, feed_id: null, record_offset: null });

    const { status, body } = await service.api.get(path(created));

    expect(status).toBe(200);
    expect(new Set(Object.values(body as object))).toEqual(new Set([null]));
    expect(Object.keys(body as object)).toHaveLength(6);
  });

  it('is the same for an order with an idempotency key', async () => {
    const { body } = await service.api.get('/products?sku=LAMP');
    const request = { partner_name: 'Buyer', items: [{ product_id: body.items[0].product_id, quantity: 1 }] };
    const key = { 'idempotency-key': 'once' };
    const { body: created } = await service.api.post('/orders', request, key);
    await service.api.post('/orders', request, key);

    expect((await service.api.get(path(created as Order))).body).toEqual(sourceIn('FD00001', file, lamp));
  });

  it('does not find unknown orders and items, nor items of another order', async () => {
    const one = await order(service, 'Own', 'TENT');
    const other = await order(service, 'Own', 'LAMP');
    const item = other.items[0]!.order_item_id;
    const detailOf = async (at: string) => {
      const { status, body } = await service.api.get(at);
      return [status, body.detail as unknown];
    };

    expect(await detailOf('/orders/OR99999/items/OI00001/source')).toEqual([404, 'Order not found: OR99999']);
    expect(await detailOf(`/orders/x/items/${item}/source`)).toEqual([404, 'Order not found: x']);
    for (const id of ['OI99999', 'OI1', 'PR00001', item]) {
      expect(await detailOf(`/orders/${one.order_id}/items/${id}/source`)).toEqual([
        404,
        `Order item not found: ${id}`,
      ]);
    }
  });

  it('returns only own orders with own products to the key of a partner', async () => {
    await service.api.loadFeed(`sku,product_name,price,availability\nMAT,Mat,1,in_stock\n`, 'Other');
    const own = await order(service, 'Own', 'TENT', 'MAT');
    const foreign = await order(service, 'Other', 'TENT', 'MAT');
    const bound = await withStoredKey(service, 'Own');

    expect((await bound.get(path(own, 0))).body).toEqual(sourceIn('FD00001', file, tent));
    expect(await bound.get(path(own, 1))).toMatchObject({
      status: 404,
      body: { detail: `Order item not found: ${own.items[1]!.order_item_id}` },
    });
    for (const at of [0, 1]) {
      expect(await bound.get(path(foreign, at))).toMatchObject({
        status: 404,
        body: { detail: `Order not found: ${foreign.order_id}` },
      });
    }
    expect((await service.api.get(path(own, 1))).status).toBe(200);
  });
});
