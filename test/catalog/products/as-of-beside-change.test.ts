import { sql } from '../../../src/base/db/sql';
import { findMoment, findProductsAt } from '../../../src/catalog/products/as-of.repository';
import { parseMicros } from '../../../src/catalog/products/point-in-time';
import { loadProducts } from '../../support/catalog';
import { pagesOf, walk } from '../../support/expectations';
import { startTestService, type TestService } from '../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const load = (partner: string, price: string) => loadProducts(service, [{ sku: 'TENT-2', price }], partner);
const page = { afterProductId: 0, limit: 10 };

async function databaseTime(): Promise<string> {
  const { rows } = await service.db.raw<{ rows: [{ at: string }] }>(
    `select to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at`,
  );
  return rows[0].at;
}

describe('a catalog as of a time, while a change commits between the two statements of the read', () => {
  it.each(['First', 'Later'])(
    'shows the products as they were at that time (the change is %s after it)',
    async (which) => {
      const partner = `${which} change`;
      const { productIds } = await loadProducts(service, [{ sku: 'TENT-2', price: '10' }], partner);
      const at = parseMicros(await databaseTime());
      if (which === 'Later') await load(partner, '11');

      const partnerId = sql`(select partner_id from partners where partner_name = ${partner})`;
      const moment = await findMoment(service.db, partnerId, at);
      await load(partner, '12');

      const known = { ...moment, partnerId: moment.partnerId!, at };
      const products = await findProductsAt(service.db, known, { includesWithdrawn: false }, page);
      expect(products).toMatchObject([{ product_id: Number(productIds[0].slice(2)), price: '10.0000' }]);
    },
  );
});

describe('a catalog as of a time, with a filter that few of many products match', () => {
  it('has the products with the value at that time, whether or not they have changed since', async () => {
    const skus = Array.from({ length: 60 }, (_, at) => `P${at}`);
    const branded = (numbers: readonly number[], brand: string) =>
      numbers.map((at) => ({ sku: skus[at]!, brand, price: '1', currency: 'EUR' }));
    const { productIds } = await loadProducts(
      service,
      skus.map((sku) => ({ sku })),
      'Few',
    );
    await loadProducts(service, branded([11, 40, 41, 58], 'Few'), 'Few');
    const as_of = await databaseTime();
    await loadProducts(service, [...branded([11, 41], 'Other'), ...branded([2, 3, 59], 'Few')], 'Few');
    const had = [11, 40, 41, 58].map((at) => productIds[at]!);
    const pages = (query: Record<string, string>) =>
      walk(service.api, '/products', 'product_id', { partner_name: 'Few', as_of, ...query });

    for (const limit of [1, 2, 3, 100]) {
      expect(await pages({ brand: 'Few', limit: String(limit) })).toEqual(pagesOf(had, limit));
    }
    expect(await pages({ brand: 'Other' })).toEqual([[]]);
    expect(await pages({ sku: 'P41', brand: 'Few' })).toEqual([[productIds[41]]]);
  });
});
