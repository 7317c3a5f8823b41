import fc from 'fast-check';
import { inTransaction } from '../../../src/base/db/transaction';
import { mergePartners } from '../../../src/catalog/partners/merge-partners';
import { casesFor } from '../../support/fuzz';
import { withProducts } from '../../support/history-invariants';
import { onLocalProducts } from '../../support/local-products';
import { startTestService, type TestService } from '../../support/service';

const names = ['Acme', 'Birch', 'Cedar'] as const;

let service: TestService;
beforeEach(async () => {
  service = await startTestService();
  for (const name of names) await service.api.uploadFeed('sku,product_name\nA,A\n', name);
});

/** The expected counts, computed from the tables. */
async function counted(): Promise<unknown> {
  const { rows } = await service.db.raw<{ rows: { last_completed_at: Date | null }[] }>(`
    ${withProducts}
    select partner_name,
      (
        select count(*) from products where products.partner_id = partners.partner_id and withdrawn_at is null
      ) as products,
      (select count(*) from feeds where feeds.partner_id = partners.partner_id) as feeds
    from partners order by partner_name`);
  return rows;
}

async function shown(): Promise<unknown> {
  const { body } = await service.api.get('/partners');
  return body.items.map(({ partner_name, products, feeds }: Record<string, unknown>) => ({
    partner_name,
    products,
    feeds,
  }));
}

const partnerId = '(select partner_id from partners where partner_name = ?)';

/** Changes by SQL, each with the partner as its only binding. */
const manualChanges = {
  insert: `insert into products (feed_id, partner_id, sku, product_name)
    select 1, ${partnerId}, 'M' || random(), 'M' from generate_series(1, 3)`,
  insertWithdrawn: `insert into products (feed_id, partner_id, sku, product_name, withdrawn_at)
    values (1, ${partnerId}, 'W' || random(), 'W', now())`,
  delete: `delete from products where partner_id = ${partnerId} and product_id % 2 = 0`,
  withdraw: `update products set withdrawn_at = now() where partner_id = ${partnerId} and product_id % 3 = 0`,
  restore: `update products set withdrawn_at = null where partner_id = ${partnerId}`,
  change: `update products set price = random() where partner_id = ${partnerId}`,
  move: `update products set partner_id = (select max(partner_id) from partners), sku = 'V' || random()
    where partner_id = ${partnerId} and product_id % 2 = 1`,
  upsert: `insert into products (feed_id, partner_id, sku, product_name)
    select 1, partner_id, sku, 'U' from (
      select ${partnerId} as partner_id, unnest(array['A', 'U' || random()]) as sku
    ) as given
    on conflict (partner_id, sku) do update set withdrawn_at = now()`,
} as const;

type Step =
  | { kind: 'load'; partner: string; skus: string[] }
  | { kind: 'manual'; partner: string; change: keyof typeof manualChanges; isRolledBack: boolean }
  | { kind: 'fail'; partner: string }
  | { kind: 'truncate' }
  | { kind: 'recount' };

const partner = fc.constantFrom(...names);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('load' as const),
      partner,
      skus: fc.array(fc.constantFrom('A', 'B', 'C', 'D', 'E', '')),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('manual' as const),
      partner,
      change: fc.constantFrom(...(Object.keys(manualChanges) as (keyof typeof manualChanges)[])),
      isRolledBack: fc.boolean(),
    }),
  },
  fc.record({ kind: fc.constant('fail' as const), partner }),
  fc.constant({ kind: 'truncate' as const }),
  fc.constant({ kind: 'recount' as const }),
);

async function perform(step: Step): Promise<void> {
  const { api, db } = service;
  switch (step.kind) {
    case 'load':
      await api.loadFeed(
        `sku,product_name\n${step.skus.map((sku) => `${sku},Name\n`).join('')}`,
        step.partner,
      );
      return;
    case 'fail': {
      const { jobId } = await api.uploadFeed('sku,product_name\nN,N\nA,"A\n', step.partner);
      expect((await api.post(`/jobs/${jobId}/run`)).body.status).toBe('failed');
      return;
    }
    case 'manual': {
      const trx = await db.transaction();
      await trx.raw(manualChanges[step.change], [step.partner]);
      await (step.isRolledBack ? trx.rollback() : trx.commit());
      return;
    }
    case 'truncate':
      await db.raw('truncate products');
      return;
    case 'recount':
      await db.raw('select recount_partner(partner_id) from partners order by partner_id');
  }
}

describe('partner counts', () => {
  onLocalProducts(it, 'triggers do not notice a truncation')(
    'are a count after each run, upload and change by SQL, in any order',
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
          for (const each of steps) {
            await perform(each);
            expect(await shown()).toEqual(await counted());
          }
        }),
        casesFor('numbers of partners', 3),
      );
    },
  );

  onLocalProducts(it, 'the transaction is not of a working copy')(
    'show no uncommitted change, and a change that is held open holds up neither runs nor uploads',
    async () => {
      const trx = await service.db.transaction();
      await trx.raw(manualChanges.insert, ['Acme']);
      await service.api.loadFeed('sku,product_name\nA,A\nB,B\n', 'Acme');

      expect(await shown()).toMatchObject([{ partner_name: 'Acme', products: 2, feeds: 2 }, {}, {}]);
      await trx.commit();
      expect(await shown()).toMatchObject([{ partner_name: 'Acme', products: 5, feeds: 2 }, {}, {}]);
    },
  );

  it('have one row per partner after a run', async () => {
    for (let count = 0; count < 3; count++) await service.api.uploadFeed('sku,product_name\nA,A\n', 'Acme');
    await service.db.raw(manualChanges.insert, ['Acme']);

    await service.api.loadFeed('sku,product_name\nA,A\n', 'Acme');

    const rows = await service
      .db('partner_counts')
      .join('partners', 'partners.partner_id', 'partner_counts.partner_id')
      .where({ partner_name: 'Acme' })
      .select('products', 'feeds');
    expect(rows).toEqual([{ products: 4, feeds: 5 }]);
  });

  it('are the sums of both partners after a merge, with the later completion time', async () => {
    await service.api.loadFeed('sku,product_name\nA,A\nB,B\n', 'Acme');
    const { job } = await service.api.loadFeed('sku,product_name\nB,B\nC,C\n', 'Birch');

    await inTransaction(service.db, 'bulk', (trx) => mergePartners(trx, 'Birch', 'Acme'));

    const { body } = await service.api.get('/partners');
    expect(body.items).toEqual([
      {
        partner_name: 'Acme',
        products: 3,
        feeds: 4,
        last_feed_id: 'FD00005',
        last_completed_at: job.finished_at,
        attention: [],
      },
      expect.objectContaining({ partner_name: 'Cedar', products: 0, feeds: 1 }),
    ]);
    expect(await shown()).toEqual(await counted());
  });

  onLocalProducts(it, 'the transaction is not of a working copy')(
    'are right again after a recount of changes that no trigger has seen',
    async () => {
      const { job } = await service.api.loadFeed('sku,product_name\nA,A\n', 'Acme');
      await service.db.transaction(async (trx) => {
        await trx.raw('set local session_replication_role = replica');
        await trx.raw(manualChanges.insert, ['Acme']);
        await trx('partner_counts').insert({ partner_id: trx.raw(partnerId, ['Acme']), feeds: 7 });
      });
      expect(await shown()).not.toEqual(await counted());

      await service.db.raw('select recount_partner(partner_id) from partners');

      expect(await shown()).toEqual(await counted());
      expect((await service.api.get('/partners/Acme')).body).toMatchObject({
        products: 4,
        last_completed_at: job.finished_at,
      });
    },
  );
});
