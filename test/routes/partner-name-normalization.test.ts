import { insertKey } from '../../src/keys/keys.repository';
import { digestOf, generateKey } from '../../src/shared/key-format';
import { listNamesOutsideNfc } from '../../src/partners/stored-partner-name';
import { loadProducts } from '../support/catalog';
import { startTestService, type TestService } from '../support/service';

const composed = '\u00c1cme';
const decomposed = 'A\u0301cme';
const csv = 'sku,product_name,price\nTENT-2,Tent,5\n';

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
});

const query = (name: string) => `partner_name=${encodeURIComponent(name)}`;

async function keyOf(partnerName: string) {
  const key = generateKey();
  await insertKey(service.db, { key_name: 'bound', key_digest: digestOf(key), partner_name: partnerName });
  return service.api.withKey(key);
}

describe('the name of a partner', () => {
  it('is normalized to NFC, in uploads, orders, filters and with bound keys', async () => {
    const { productIds, feedId } = await loadProducts(service, [{ sku: 'TENT-2', price: '5' }], composed);
    const items = [{ product_id: productIds[0], quantity: 1 }];
    const bound = await keyOf(composed);

    const second = await bound.upload({ partnerName: decomposed, csv });
    expect(second.status).toBe(201);
    expect((await service.api.get(`/feeds/${second.body.feed_id}`)).body.partner_name).toBe(composed);
    const order = await bound.post('/orders', { partner_name: decomposed, items });
    expect(order).toMatchObject({ status: 201, body: { partner_name: composed } });
    expect((await service.api.get(`/products?${query(decomposed)}`)).body.items[0].feed_id).toBe(feedId);
    expect((await service.api.get(`/orders?${query(decomposed)}`)).body.count).toBe(1);
    expect(await service.db('partners').pluck('partner_name')).toEqual([composed]);
    expect(await listNamesOutsideNfc(service.db)).toEqual([]);
  });

  it.each(['partners', 'orders', 'api_keys'])(
    'that is stored in another form stays separate: in %s',
    async (where) => {
      await service.api.loadFeed(csv, composed);
      if (where === 'partners') await service.db('partners').insert({ partner_name: decomposed });
      if (where === 'orders') {
        await service.db('orders').insert({ partner_name: decomposed, currency: 'EUR', total_amount: '0' });
      }
      const bound = await keyOf(where === 'api_keys' ? decomposed : composed);

      expect(await listNamesOutsideNfc(service.db)).toEqual([decomposed]);
      expect((await service.api.get(`/products?${query(decomposed)}`)).body.count).toBe(0);
      expect((await service.api.get(`/products?${query(composed)}`)).body.count).toBe(1);
      const { status } = await bound.upload({ partnerName: decomposed, csv });
      expect(status).toBe(where === 'api_keys' ? 201 : 403);
    },
  );
});
