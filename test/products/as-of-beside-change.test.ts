import { sql } from '../../src/db/sql';
import { findMoment, findProductsAt } from '../../src/products/as-of.repository';
import { parseMicros } from '../../src/products/point-in-time';
import { loadProducts } from '../support/catalog';
import { startTestService, type TestService } from '../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const load = (partner: string, price: string) => loadProducts(service, [{ sku: 'TENT-2', price }], partner);
const page = { afterProductId: 0, limit: 10 };

describe('a catalog as of a time, while a change is committed between the two statements that read it', () => {
  it.each(['First', 'Later'])(
    'shows the products as they were (%s change after that time)',
    async (which) => {
      const partner = `${which} change`;
      const { productIds } = await loadProducts(service, [{ sku: 'TENT-2', price: '10' }], partner);
      const { rows } = await service.db.raw<{ rows: [{ at: string }] }>(
        `select to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at`,
      );
      const at = parseMicros(rows[0].at);
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
