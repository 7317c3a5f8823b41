import fc from 'fast-check';
import { raw } from '../../../src/base/db/sql';
import { lockProducts } from '../../../src/runs/etl/merge-staged';
import { recordChangedProducts } from '../../../src/catalog/changes/changed-products';
import { indexBacklog } from '../../../src/catalog/products/search-index';
import type { UploadedFeed } from '../../support/api-client';
import { casesFor } from '../../support/fuzz';
import { onLocalProducts } from '../../support/local-products';
import { startTestService, type TestService } from '../../support/service';
import { interleave, ManualSession, SteppedRun, type ManualStep } from '../../support/stepped-run';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

interface Partner {
  partnerName: string;
  partnerId: number;
  feed: UploadedFeed;
}

type Prices = Record<string, number>;

const csvOf = (prices: Prices) =>
  ['sku,product_name,price', ...Object.entries(prices).map(([sku, price]) => `${sku},Name,${price}`)].join(
    '\n',
  );

let partners = 0;

const allAt1 = { A: 1, B: 1, C: 1, D: 1 };

async function loadPartner(prices: Prices = allAt1): Promise<Partner> {
  const partnerName = `Partner ${++partners}`;
  const feed = await service.api.loadFeed(csvOf(prices), partnerName);
  const { partner_id } = await service
    .db('partners')
    .where({ partner_name: partnerName })
    .first('partner_id');
  return { partnerName, partnerId: partner_id, feed };
}

const upload = ({ partnerName }: Partner, prices: Prices) =>
  service.api.uploadFeed(csvOf(prices), partnerName);

async function run({ jobId }: UploadedFeed) {
  const { body } = await service.api.post(`/jobs/${jobId}/run`);
  expect(body.status).toBe('completed');
  return body.summary;
}

async function pricesOf({ partnerId }: Partner): Promise<Prices> {
  const rows = await service
    .db('products')
    .where({ partner_id: partnerId })
    .select<{ sku: string; price: string }[]>('sku', 'price');
  return Object.fromEntries(rows.map(({ sku, price }) => [sku, Number(price)]));
}

const changePrice = ({ partnerId }: Partner, sku: string, price = 9) =>
  `update products set price = ${price} where sku = '${sku}' and partner_id = ${partnerId}`;

/** Changes a product without logging it, which shows whether a run uses its digests. */
async function changeSecretly(partner: Partner, sku: string): Promise<void> {
  await service.db.raw(
    `begin; set local partner_catalog.keeps_digests = 'on'; ${changePrice(partner, sku)}; commit`,
  );
}

let sessions: ManualSession[] = [];
afterEach(async () => {
  await Promise.all(sessions.map((session) => session.close()));
  sessions = [];
});

async function openSession(): Promise<ManualSession> {
  const session = await ManualSession.open(service);
  sessions.push(session);
  return session;
}

/** Runs the feed during a manual session. @returns the result of the run, and the error of the session */
async function runBeside(feed: UploadedFeed, steps: readonly ManualStep[], firstLoadBytes?: number) {
  const session = await openSession();
  const stepped = await SteppedRun.start(service, feed, firstLoadBytes);
  await interleave(stepped, session, steps);
  const { outcome } = await stepped.outcome;
  await session.close();
  return { outcome, errors: session.errors };
}

const undisturbed = { outcome: 'completed', errors: [] };

/** Statements of a run, by the step that they start. */
const phases = {
  staging: /create temporary table feed_rows/,
  locking: /^select pg_advisory_xact_lock/,
  comparing: /create temporary table feed_changes/,
  updating: /for no key update of products skip locked\s+\) as locked/,
  committing: /^COMMIT;/,
};
type Phase = keyof typeof phases;
const phaseNames = Object.keys(phases) as Phase[];
/** Executed before this statement of the run. */
const at = (phase: Phase) => (statement: string) => phases[phase].test(statement);
/** Executed after the previous step. */
const atOnce = () => true;

/** Why tests are skipped with distributed products. */
const unnoticed = 'triggers do not notice changes by hand';

onLocalProducts(describe, unnoticed)('a manual change that overlaps a run', () => {
  const after = { A: 2, B: 1, C: 1, D: 1, E: 1 };

  const none = () => 'select';
  /** The tested change, and an earlier change. */
  const changes: [string, (partner: Partner) => string, (partner: Partner) => string][] = [
    ['of a product that the run updates', (partner) => changePrice(partner, 'A'), none],
    ['of a product that the run leaves unchanged', (partner) => changePrice(partner, 'D'), none],
    [
      'of a product that the run leaves unchanged, after another manual change',
      (partner) => changePrice(partner, 'D'),
      (partner) => changePrice(partner, 'B', 3),
    ],
    [
      'that deletes all products',
      ({ partnerId }) => `delete from products where partner_id = ${partnerId}`,
      none,
    ],
    [
      'that inserts a product that the run inserts',
      ({ partnerId }) =>
        `insert into products (feed_id, partner_id, sku, product_name, price)
         select feed_id, partner_id, 'E', 'Manual', 9 from products where partner_id = ${partnerId} limit 1
         on conflict (sku, partner_id) do update set price = 9`,
      none,
    ],
    [
      'that gives a product another sku',
      ({ partnerId }) =>
        `delete from products where sku = 'Z' and partner_id = ${partnerId};
         update products set sku = 'Z' where sku = 'A' and partner_id = ${partnerId}`,
      none,
    ],
  ];

  describe.each(changes)('%s', (_what, change, changeBefore) => {
    it.each(phaseNames)(
      'is seen by the next run when it starts before %s, for any time of its commit',
      async (begin) => {
        // The commit time is independent of the kind of change: one kind tries all times.
        const ends =
          change === changes[0]![1]
            ? phaseNames.slice(phaseNames.indexOf(begin))
            : ([begin, 'committing'] as const);
        const partner = await loadPartner();
        const feed = await upload(partner, after);
        for (const end of new Set<Phase>(ends)) {
          await service.db('products').where({ partner_id: partner.partnerId, sku: 'E' }).delete();
          await run(partner.feed);
          await service.db.raw(changeBefore(partner));

          const overlap = await runBeside(feed, [
            { sql: `begin; ${change(partner)}`, isDue: at(begin) },
            { sql: 'commit', isDue: at(end) },
          ]);

          expect({ end, ...overlap }).toEqual({ end, ...undisturbed });
          await run(feed);
          const { Z: _other, ...prices } = await pricesOf(partner);
          expect({ end, ...prices }).toEqual({ end, ...after });
        }
      },
    );
  });

  it('does not make a cancelled run wait for its products', async () => {
    const partner = await loadPartner();
    const session = await openSession();
    await session.execute(`begin; ${changePrice(partner, 'A')}`);
    const changes = `(select * from products where partner_id = ${partner.partnerId})`;
    const cancelling = new AbortController();

    const locking = service.db.transaction((trx) =>
      // The last attempt of a run lasts almost as long.
      lockProducts(trx, [raw(changes)], 50_000, cancelling.signal),
    );
    cancelling.abort(new Error('The run was cancelled.'));

    await expect(locking).rejects.toThrow('The run was cancelled.');
  });

  it('of the sku of a product prevents its update by the run', async () => {
    const partner = await loadPartner();
    const feed = await upload(partner, { A: 2 });
    const rename = `update products set sku = 'Z' where sku = 'A' and partner_id = ${partner.partnerId}`;

    const overlap = await runBeside(feed, [
      { sql: `begin; ${rename}`, isDue: at('updating') },
      { sql: 'commit', isDue: at('committing') },
    ]);

    expect(overlap).toEqual(undisturbed);
    expect(await pricesOf(partner)).toMatchObject({ A: 2, Z: 1 });
  });

  it('is seen by the next run, for any statements of two partners at any steps of the run', async () => {
    const sku = fc.constantFrom('A', 'B', 'C', 'D', 'E', 'F');
    /** The number of the partner, one of two. */
    const statement = fc.tuple(
      fc.nat(1),
      fc.oneof(
        sku.map(
          (name) => (id: number) =>
            `update products set price = price + 10 where sku = '${name}' and partner_id = ${id}`,
        ),
        sku.map(
          (name) => (id: number) => `delete from products where sku = '${name}' and partner_id = ${id}`,
        ),
        fc.tuple(sku, sku).map(
          ([name, other]) =>
            (id: number) =>
              `update products set sku = '${name}' || product_id where sku = '${other}' and partner_id = ${id}`,
        ),
        sku.map(
          (name) => (id: number) =>
            `insert into products (feed_id, partner_id, sku, product_name) select max(feed_id), partner_id, '${name}', 'Manual'
         from feeds where partner_id = ${id} group by partner_id on conflict do nothing`,
        ),
        fc.constant((id: number) => `update products set price = 7 where partner_id >= ${id}`),
      ),
    );
    const savepoints = fc.constantFrom('savepoint one', 'rollback to one');
    const session = fc.record({
      prices: fc.dictionary(sku, fc.integer({ min: 1, max: 3 }), { minKeys: 2 }),
      others: fc.dictionary(sku, fc.integer({ min: 1, max: 3 }), { minKeys: 2 }),
      changedBefore: fc.boolean(),
      steps: fc.array(fc.tuple(fc.nat(30), fc.oneof({ weight: 5, arbitrary: statement }, savepoints)), {
        minLength: 1,
        maxLength: 5,
      }),
      end: fc.tuple(fc.nat(40), fc.constantFrom('commit', 'commit', 'rollback')),
    });
    await fc.assert(
      fc.asyncProperty(session, async ({ prices, others, changedBefore, steps, end }) => {
        const [one, other] = [await loadPartner(), await loadPartner(others)];
        const ids = [one.partnerId, other.partnerId];
        if (changedBefore) await service.db.raw(changePrice(one, 'B'));
        const feed = await upload(one, prices);
        const after = (count: number) => (_statement: string, counted: number) => counted >= count;
        const sorted = steps.sort(([first], [second]) => first - second);

        const overlap = await runBeside(feed, [
          { sql: 'begin; savepoint one', isDue: after(sorted[0]![0]) },
          ...sorted.map(([count, sql]) => ({
            sql: typeof sql === 'string' ? sql : sql[1](ids[sql[0]]!),
            isDue: after(count),
          })),
          { sql: end[1], isDue: after(end[0]) },
        ]);

        expect(overlap).toEqual(undisturbed);
        await run(feed);
        await run(other.feed);
        expect(await pricesOf(one)).toMatchObject(prices);
        expect(await pricesOf(other)).toMatchObject(others);
        expect(await run(feed)).toMatchObject({ inserted: 0, updated: 0 });
      }),
      casesFor('manual changes beside runs', 8),
    );
  });
});

onLocalProducts(describe, unnoticed)('a run beside an open manual transaction', () => {
  it('of another partner completes and uses its digests before and after', async () => {
    const [partner, other] = [await loadPartner(), await loadPartner()];
    // The log then contains a row of the other partner.
    await service.db.raw(changePrice(other, 'B'));
    const session = await openSession();
    await session.execute(`begin; ${changePrice(other, 'A')}`);
    await changeSecretly(partner, 'A');

    const stepped = await SteppedRun.start(service, partner.feed);
    const { counters } = await stepped.finish();

    expect(counters).toMatchObject({ updated: 0, unchanged: 4 });
    await session.execute('commit');
    expect(await run(partner.feed)).toMatchObject({ updated: 0, unchanged: 4 });
  });

  it('of the same partner completes, unless both change the same product', async () => {
    const partner = await loadPartner();
    const feed = await upload(partner, { A: 2, B: 1 });
    // The open transaction relies on the row of the partner in the log.
    await service.db.raw(changePrice(partner, 'C'));
    const session = await openSession();
    await session.execute(`begin; ${changePrice(partner, 'B')}`);

    const stepped = await SteppedRun.start(service, feed);
    const { counters } = await stepped.finish();

    expect(counters).toMatchObject({ updated: 1, unchanged: 1 });
    await session.execute('commit');
    expect(await run(feed)).toMatchObject({ updated: 1, unchanged: 1 });
    expect(await pricesOf(partner)).toMatchObject({ A: 2, B: 1 });
  });

  it.each([
    ['A', 'B'],
    ['B', 'A'],
  ])(
    'that changes the same products, %s before %s, ends as that one does, without a deadlock',
    async (first, second) => {
      const partner = await loadPartner();
      const feed = await upload(partner, { A: 2, B: 2, C: 1 });

      const overlap = await runBeside(feed, [
        // If it waited for the run while the run waits for it, PostgreSQL would report a deadlock at once.
        {
          sql: `begin; set local deadlock_timeout = '1ms'; ${changePrice(partner, first)}`,
          isDue: at('updating'),
        },
        // While the run waits for the product.
        { sql: changePrice(partner, second), isDue: at('committing') },
        { sql: changePrice(partner, 'C'), isDue: atOnce },
        { sql: 'commit', isDue: atOnce },
      ]);

      expect(overlap).toEqual(undisturbed);
      expect(await pricesOf(partner)).toMatchObject({ A: 2, B: 2 });
      await run(feed);
      expect(await pricesOf(partner)).toMatchObject({ A: 2, B: 2, C: 1 });
    },
  );
});

describe('other ways to change products', () => {
  onLocalProducts(it, unnoticed)(
    'a truncation during a run is detected by the next run of every partner',
    async () => {
      // This affects every partner of the service.
      service = await startTestService();
      const [partner, other] = [await loadPartner(), await loadPartner()];
      for (const phase of phaseNames) {
        const overlap = await runBeside(partner.feed, [
          { sql: 'truncate products cascade', isDue: at(phase) },
        ]);

        expect({ phase, ...overlap }).toEqual({ phase, ...undisturbed });
        await run(partner.feed);
        await run(other.feed);
        expect([phase, await pricesOf(partner), await pricesOf(other)]).toEqual([phase, allAt1, allAt1]);
      }
    },
  );

  onLocalProducts(it, unnoticed)('a run of release 1.2.0 counts as a manual change', async () => {
    const partner = await loadPartner();
    await service.db.raw(`begin; set local partner_catalog.run = 'on'; ${changePrice(partner, 'A')}; commit`);

    expect(await run(partner.feed)).toMatchObject({ updated: 1, unchanged: 3 });
    expect(await pricesOf(partner)).toMatchObject({ A: 1 });
  });

  it('changes with disabled triggers are compared, indexed and counted after they are recorded', async () => {
    const partner = await loadPartner();
    const found = async (q: string) => {
      await indexBacklog(service.db);
      const query = new URLSearchParams({ q, partner_name: partner.partnerName });
      return (await service.api.get(`/products?${query.toString()}`)).body.count as number;
    };
    const counted = async () =>
      (await service.api.get(`/partners/${encodeURIComponent(partner.partnerName)}`)).body.products as number;
    expect(await found('renamed')).toBe(0);
    // In a separate session: with distributed products too, no trigger records the changes.
    const session = await openSession();
    await session.execute(
      `begin; set local session_replication_role = replica; ${changePrice(partner, 'A')};
       update products set product_name = 'Renamed' where sku = 'B' and partner_id = ${partner.partnerId};
       delete from products where sku = 'C' and partner_id = ${partner.partnerId}; commit`,
    );
    expect(await run(partner.feed)).toMatchObject({ updated: 0, unchanged: 4 });
    expect([await counted(), await found('renamed')]).toEqual([4, 0]);

    await service.db.transaction((trx) => recordChangedProducts(trx, partner.partnerId));

    expect([await counted(), await found('renamed')]).toEqual([3, 1]);
    expect(await run(partner.feed)).toMatchObject({ inserted: 1, updated: 2, unchanged: 1 });
    expect([await counted(), await found('renamed')]).toEqual([4, 0]);
  });
});

describe('the log of manual changes', () => {
  const logged = ({ partnerId }: Partner) =>
    service.db('manual_changes').where({ partner_id: partnerId }).pluck<number[]>('manual_change_id');

  it('has one row per partner for any number of changes, and none after a run', async () => {
    const partner = await loadPartner();
    for (let price = 1; price <= 5; price++) await service.db.raw(changePrice(partner, 'A', price));
    await service.db.transaction(async (trx) => {
      for (let price = 1; price <= 5; price++) await trx.raw(changePrice(partner, 'B', price));
    });
    expect(await logged(partner)).toHaveLength(1);

    await run(partner.feed);

    expect(await logged(partner)).toEqual([]);
  });

  onLocalProducts(it, unnoticed)(
    'does not abort a manual transaction whose snapshot is older than a run',
    async () => {
      const partner = await loadPartner();
      await service.db.raw(changePrice(partner, 'A'));
      const session = await openSession();
      await session.execute('begin isolation level repeatable read; select from products');
      await run(partner.feed);

      await session.execute(`${changePrice(partner, 'C')}; commit`);

      expect(session.errors).toEqual([]);
      expect(await run(partner.feed)).toMatchObject({ updated: 1, unchanged: 3 });
    },
  );

  onLocalProducts(it, unnoticed)('requires no privileges of the user who changes products', async () => {
    const partner = await loadPartner();
    const role = `clerk_${partner.partnerId}_${process.pid}`;
    await service.db.raw(`create role ${role}; grant select, update on products to ${role}`);
    try {
      await service.db.raw(`begin; set local role ${role}; ${changePrice(partner, 'A')}; commit`);
    } finally {
      await service.db.raw(`drop owned by ${role}; drop role ${role}`);
    }

    expect(await run(partner.feed)).toMatchObject({ updated: 1, unchanged: 3 });
  });
});

onLocalProducts(describe, unnoticed)('a first load straight into products', () => {
  it('is staged instead if a manual transaction has inserted one of the products', async () => {
    const partnerName = `Partner ${++partners}`;
    const feed = await service.api.uploadFeed(csvOf({ A: 1, B: 1 }), partnerName);
    const { partner_id: partnerId } = await service
      .db('partners')
      .where({ partner_name: partnerName })
      .first('partner_id');
    const insert = `insert into products (feed_id, partner_id, sku, product_name, price)
      select feed_id, partner_id, 'B', 'Name', 9 from feeds where partner_id = ${partnerId}`;

    const overlap = await runBeside(
      feed,
      [
        { sql: `begin; ${insert}`, isDue: (statement) => statement.includes('keeps_digests') },
        { sql: 'commit', isDue: at('committing') },
      ],
      0,
    );

    expect(overlap).toEqual(undisturbed);
    const partner = { partnerName, partnerId, feed };
    expect(await pricesOf(partner)).toEqual({ A: 1, B: 1 });
    expect(await run(feed)).toMatchObject({ inserted: 0, updated: 0, unchanged: 2 });
  });
});
