import fc from 'fast-check';
import type { Knex } from 'knex';
import { findPrices, type PricePeriod } from '../../../src/catalog/products/prices.repository';
import { pricesOf as pricesFrom, type ProductPrices } from '../../../src/catalog/products/product-prices';
import { findVersions, type VersionRow } from '../../../src/catalog/products/versions.repository';
import { casesFor } from '../../support/fuzz';
import {
  beginHistoryAt,
  withoutHistory,
  writeHistory,
  type CatalogChange,
} from '../../support/write-history';
import { startTestService, withStoredKey, type TestService } from '../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await beginHistoryAt(service, '2025-01-01T00:00:00Z');
});

const day = (number: number) => new Date(Date.UTC(2026, 0, number, 9)).toISOString().replace('Z', '456Z');
const uploadFor = (partnerName: string) => service.api.uploadFeed('sku,product_name\nA,A\n', partnerName);
const priced = (at: string, price: string | null, currency: string | null = 'EUR'): CatalogChange => ({
  at,
  write: [{ sku: 'A', price, currency }],
});

async function productWith(partnerName: string, changes: readonly CatalogChange[]): Promise<string> {
  return (await writeHistory(service, await uploadFor(partnerName), changes)).A!;
}

async function pricesOf(id: string, query = '') {
  const { status, body } = await service.api.get(`/products/${id}/prices${query}`);
  expect([id, status]).toEqual([id, 200]);
  return body as Record<string, unknown>;
}

const toPeriod = (version: VersionRow): PricePeriod => ({
  price: version.price,
  currency: version.currency,
  isWithdrawn: version.withdrawn_at !== null,
  from: version.valid_from,
  to: version.valid_to,
});

/** Prices with only the newest `count` changes. */
const readable = ({ changes, ...same }: ProductPrices, count: number) => ({
  ...same,
  changes: changes.slice(0, count),
});

describe('GET /products/{product_id}/prices', () => {
  describe('200', () => {
    it('returns the changes, and the lowest price of the 30 days before the current one', async () => {
      const id = await productWith('Reduced', [
        priced(day(1), '200'),
        priced(day(40), '189.9000'),
        priced(day(60), '179.90'),
        { at: day(65), write: [{ sku: 'A', brand: 'Acme' }] },
        priced(day(70), '189.90'),
        priced(day(80), '159.9'),
        { at: day(90), write: [{ sku: 'A', description: 'Later' }] },
      ]);
      const period = { currency: 'EUR', is_withdrawn: false };

      expect(await pricesOf(id)).toEqual({
        product_id: id,
        days: 30,
        price: 159.9,
        currency: 'EUR',
        price_from: day(80),
        lowest_price: 179.9,
        observed_from: day(50),
        is_complete: true,
        changes: [
          { ...period, price: 159.9, valid_from: day(80), valid_to: null },
          { ...period, price: 189.9, valid_from: day(70), valid_to: day(80) },
          { ...period, price: 179.9, valid_from: day(60), valid_to: day(70) },
          { ...period, price: 189.9, valid_from: day(40), valid_to: day(60) },
        ],
      });
      expect(await pricesOf(id, '?days=5')).toMatchObject({
        days: 5,
        lowest_price: 189.9,
        observed_from: day(75),
      });
      expect(await pricesOf(id, '?days=100')).toMatchObject({
        lowest_price: 179.9,
        observed_from: day(1),
        is_complete: false,
      });
    });

    it('excludes other currencies, gaps and withdrawn times, and starts a price with a restoration', async () => {
      const id = await productWith('Gaps', [
        priced(day(1), '100'),
        priced(day(60), '1', 'USD'),
        priced(day(62), null, null),
        priced(day(64), '90'),
        { at: day(66), withdraw: ['A'] },
        priced(day(68), '80'),
        { at: day(70), withdraw: ['A'] },
        { at: day(72), write: [{ sku: 'A' }] },
      ]);

      const prices = await pricesOf(id);

      expect(prices).toMatchObject({ price: 80, price_from: day(72), lowest_price: 80, is_complete: true });
      expect(prices.changes).toMatchObject([
        { price: 80, currency: 'EUR', is_withdrawn: false, valid_from: day(72) },
        { price: null, currency: null, is_withdrawn: true, valid_from: day(70) },
        { price: 80, valid_from: day(68) },
        { price: null, currency: null, is_withdrawn: true },
        { price: 90 },
        { price: null, currency: null, is_withdrawn: false },
        { price: 1, currency: 'USD' },
        { price: 100, valid_from: day(1), valid_to: day(60) },
      ]);
    });

    it.each<[string, CatalogChange]>([
      ['a withdrawn product', { at: day(100), withdraw: ['A'] }],
      ['a product without a price', priced(day(100), null)],
    ])('has no prices for %s', async (what, last) => {
      const id = await productWith(what, [priced(day(1), '100'), last]);

      expect(await pricesOf(id)).toMatchObject({
        price: null,
        currency: null,
        price_from: null,
        lowest_price: null,
        is_complete: true,
      });
    });

    it('has no lowest price for a new product', async () => {
      const id = await productWith('New', [priced(day(1), '100')]);

      expect(await pricesOf(id)).toMatchObject({
        price: 100,
        lowest_price: null,
        observed_from: day(1),
        is_complete: false,
      });
    });

    it('has no prices from before the history of an older product', async () => {
      const own = await startTestService();
      const { A: id } = await writeHistory(own, await own.api.uploadFeed('sku,product_name\nA,A\n'), [
        priced(day(1), '100'),
      ]);
      await withoutHistory(own, (trx) => trx('products').update({ run_id: null }));
      await beginHistoryAt(own, day(20));

      expect((await own.api.get(`/products/${id}/prices`)).body).toMatchObject({
        price: 100,
        price_from: day(20),
        lowest_price: null,
        observed_from: day(20),
        is_complete: false,
      });
    });

    it('agrees with all versions of any history, and receives few of them', async () => {
      const change = fc.record({
        kind: fc.constantFrom('write', 'write', 'write', 'touch', 'withdraw'),
        hours: fc.integer({ min: 1, max: 60 }),
        price: fc.constantFrom('1', '2', '2.5000', '10', null),
        currency: fc.constantFrom('EUR', 'EUR', 'USD', null),
      });
      let number = 0;
      const property = fc.asyncProperty(
        fc.array(change, { minLength: 1, maxLength: 14 }),
        fc.integer({ min: 1, max: 8 }),
        fc.boolean(),
        async (drafts, days, isDeleted) => {
          let at = Date.UTC(2026, 0, 1);
          const changes = drafts.map(({ kind, hours, price, currency }, index): CatalogChange => {
            at += hours * 3_600_000;
            const time = new Date(at).toISOString();
            if (index > 0 && kind === 'withdraw') return { at: time, withdraw: ['A'] };
            if (index > 0 && kind === 'touch') return { at: time, write: [{ sku: 'A', brand: String(at) }] };
            return { at: time, write: [{ sku: 'A', price, currency }] };
          });
          const feed = await uploadFor(`Any ${++number}`);
          const { A: id } = await writeHistory(service, feed, changes);
          if (isDeleted)
            await writeHistory(service, feed, [
              { at: new Date(at + 3_600_000).toISOString(), remove: ['A'] },
            ]);
          const product = await service
            .db('product_versions')
            .where('product_id', Number(id!.slice(2)))
            .first('partner_id');
          const { partner_id: partnerId } =
            product ??
            (await service
              .db('products')
              .where('product_id', Number(id!.slice(2)))
              .first('partner_id'));
          const key = { partnerId: Number(partnerId), productId: Number(id!.slice(2)) };
          const now = at * 1_000 + 3 * 3_600_000_000;
          const states = (await findVersions(service.db, key)).reverse().map(toPeriod);

          const read = await findPrices(service.db, key, { days, now, newest: 3 });

          const expected = readable(pricesFrom(states, days, now), 2);
          expect(readable(pricesFrom(read, days, now), 2)).toEqual(expected);
          expect(read.length).toBeLessThanOrEqual(5);
        },
      );
      await fc.assert(property, casesFor('prices of any history', 80));
    });

    it('reads the versions of the product by their index, even if most versions are its own', async () => {
      const own = await startTestService();
      const { A: id } = await writeHistory(own, await own.api.uploadFeed('sku,product_name\nA,A\n'), [
        priced(day(1), '100'),
      ]);
      await own.db.raw(`
        insert into catalog_versions (run_id, partner_id, effective_at)
        select 10 + n, 1, now() - (5000 - n) * interval '1 hour' from generate_series(1, 5000) as n;
        insert into product_versions (partner_id, product_id, until_run_id, run_id, feed_id, sku, product_name, created_at, collection)
        select 1, product_id, 10 + n, 9 + n, feed_id, sku, product_name, created_at, collection
        from products cross join generate_series(1, 5000) as n;
        analyze catalog_versions; analyze product_versions;
      `);
      const statements: { sql: string; bindings: Knex.Value[] }[] = [];
      own.pool.on('query', (statement: (typeof statements)[0]) => {
        if (statement.sql.includes('in_force')) statements.push(statement);
      });

      await own.api.get(`/products/${id}/prices`);

      const [{ sql, bindings }] = statements as [(typeof statements)[0]];
      const text = `explain ${sql.replaceAll(/\$\d+/g, '?')}`;
      const { rows } = await own.db.raw<{ rows: Record<string, string>[] }>(text, bindings);
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      expect(plan).toMatch(/using product_versions_pkey/);
      expect(plan).not.toMatch(/product_versions_until_run_id|Seq Scan on (product|catalog)_versions/);
    });

    it('returns prices with all their digits', async () => {
      const id = await productWith('Exact', [
        priced(day(1), '999999999999.9998'),
        priced(day(2), '999999999999.9999'),
      ]);

      const response = await fetch(`${service.url}/products/${id}/prices`, {
        headers: { 'x-api-key': service.api.key! },
      });

      expect(await response.text()).toContain('"price":999999999999.9999,"currency":"EUR"');
    });

    it('is 304 for a copy that is current', async () => {
      const id = await productWith('Copies', [priced(day(1), '100')]);
      const { headers } = await service.api.get(`/products/${id}/prices`);

      expect(headers.get('cache-control')).toBe('private, max-age=2');
      const copy = { 'if-none-match': headers.get('etag')! };
      expect((await service.api.get(`/products/${id}/prices`, copy)).status).toBe(304);
    });
  });

  describe('400', () => {
    it('rejects a path that cannot be decoded', async () => {
      expect(await service.api.get('/products/%E0%A4%A/prices')).toMatchObject({
        status: 400,
        body: { detail: 'Malformed request path.' },
      });
    });
  });

  describe('404', () => {
    it.each(['PR99999', 'x'])('does not find the product %s', async (id) => {
      expect(await service.api.get(`/products/${id}/prices`)).toMatchObject({
        status: 404,
        body: { detail: `Product ${id} not found.` },
      });
    });

    it('does not find a product of another partner than the one of the key', async () => {
      const id = await productWith('Foreign', [priced(day(1), '1')]);
      await uploadFor('Bound');
      const limited = await withStoredKey(service, 'Bound');

      expect((await limited.get(`/products/${id}/prices`)).status).toBe(404);
    });
  });

  describe('422', () => {
    it.each([
      ['0', { type: 'greater_than_equal', ctx: { ge: 1 } }],
      ['-1', { type: 'greater_than_equal', ctx: { ge: 1 } }],
      ['366', { type: 'less_than_equal', ctx: { le: 365 } }],
      ['', { type: 'int_parsing' }],
      ['30.0', { type: 'int_parsing' }],
      ['a month', { type: 'int_parsing' }],
    ])('rejects %j days', async (days, entry) => {
      expect(
        await service.api.get(`/products/PR00001/prices?days=${encodeURIComponent(days)}`),
      ).toMatchObject({ status: 422, body: { detail: [{ ...entry, loc: ['query', 'days'], input: days }] } });
    });

    it.each(['1', '365'])('accepts %s days', async (days) => {
      const id = await productWith(`Days ${days}`, [priced(day(1), '1')]);

      expect(await pricesOf(id, `?days=${days}`)).toMatchObject({ days: Number(days) });
    });
  });
});
