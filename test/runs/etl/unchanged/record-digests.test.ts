import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { activeCurrencies } from '../../../../src/feed-format/currency';
import { defaultLoadOptions } from '../../../../src/feed-format/load-options';
import { digestBytes, digestContext, rulesVersion } from '../../../../src/runs/etl/unchanged/digest-context';
import type { FeedHeader } from '../../../../src/feed-format/read/header-columns';
import { strictHeader } from '../../../support/read-strictly';
import { PartnerDigests } from '../../../../src/runs/etl/unchanged/partner-digests';
import {
  BlockBudget,
  RecordDigests,
  recordsPerBlock,
} from '../../../../src/runs/etl/unchanged/record-digests';
import { runFeed } from '../../../../src/runs/execution/run-feed';
import { requestRunOf } from '../../../support/requested-runs';
import { createLog } from '../../../../src/base/log';
import type { UploadedFeed } from '../../../support/api-client';
import { withProducts } from '../../../support/history-invariants';
import { eventually } from '../../../support/harness';
import { anyBytes, anyFeed } from '../../../support/arbitrary';
import { casesFor } from '../../../support/fuzz';
import { startTestService, type TestService } from '../../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

let partners = 0;
const newPartner = () => `Partner ${++partners}`;

async function run({ jobId }: Pick<UploadedFeed, 'jobId'>) {
  const { body } = await service.api.post(`/jobs/${jobId}/run`);
  return body;
}

async function partnerNumber(partnerName: string): Promise<number> {
  const row = await service.db('partners').where({ partner_name: partnerName }).first('partner_id');
  return row.partner_id;
}

/** Makes the next run of the partner compare all rows. */
async function forget(partnerName: string): Promise<void> {
  await service
    .db('digest_blocks')
    .where('partner_id', await partnerNumber(partnerName))
    .delete();
}

/** The partner's products without ids; `feed_id` is its rank among the partner's feeds. */
async function productsOf(partnerName: string) {
  const { rows } = await service.db.raw(
    `${withProducts}
     select sku, product_name, description, brand, category, price, currency, availability,
       (select count(*) from feeds as earlier
        where earlier.partner_id = products.partner_id and earlier.feed_id < products.feed_id) as feed
     from products join partners using (partner_id) where partner_name = ? order by sku`,
    [partnerName],
  );
  return rows as Record<string, unknown>[];
}

/** Result of a run, without differences between partners. */
async function resultOf(jobId: string): Promise<unknown> {
  const { body: job } = await service.api.get(`/jobs/${jobId}`);
  const { body: issues } = await service.api.get(`/jobs/${jobId}/issues?limit=500`);
  const { status, message, summary, issue_counts } = job;
  const result = { status, message, summary, issue_counts, issues: issues.items };
  // Warnings contain ids of the partner's feeds.
  return JSON.parse(JSON.stringify(result).replace(/"FD\d{5,}"/g, '"a feed"'));
}

describe('a partner with stored digests', () => {
  it('gets the same products, counters and issues as a partner without digests, for any bytes', async () => {
    const anyCsv = fc.oneof(
      anyFeed.map((csv) => Buffer.from(csv)),
      anyBytes,
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyCsv, { minLength: 1, maxLength: 3 }),
        fc.array(fc.nat(), { minLength: 2, maxLength: 5 }),
        async (feeds, turns) => {
          const [known, anew] = [newPartner(), newPartner()];
          const pairs: [UploadedFeed, UploadedFeed][] = [];
          for (const csv of feeds) {
            const uploads = [];
            for (const partnerName of [known, anew])
              uploads.push(await service.api.upload({ csv, partnerName }));
            const [first, second] = uploads.map(({ status, body }) =>
              status === 201
                ? { feedId: body.feed_id, submissionJobId: body.job_id, jobId: body.validation_job_id }
                : undefined,
            );
            if (first && second) pairs.push([first, second]);
          }
          if (pairs.length === 0) return;
          for (const turn of turns) {
            const [first, second] = pairs[turn % pairs.length]!;
            await run(first);
            await forget(anew);
            await run(second);
            expect(await resultOf(first.jobId)).toEqual(await resultOf(second.jobId));
            expect(await productsOf(known)).toEqual(await productsOf(anew));
          }
        },
      ),
      casesFor('runs with and without digests', 4),
    );
  });

  const head = 'sku,product_name,price\n';

  it('skips unchanged records in the next run', async () => {
    const partner = newPartner();
    const feed = await service.api.loadFeed(`${head}A,Tent,1\nB,Lamp,2\n`, partner);
    // Changed without the log: by its digest, the record still counts as unchanged.
    await service.db.transaction(async (trx) => {
      await trx.raw("set local partner_catalog.keeps_digests = 'on'");
      await trx('products')
        .where({ partner_id: await partnerNumber(partner), sku: 'A' })
        .update({ price: 9 });
    });

    const { summary } = await run(feed);

    expect(summary).toEqual({
      processed: 2,
      inserted: 0,
      updated: 0,
      unchanged: 2,
      skipped: 0,
      withdrawn: 0,
      restored: 0,
    });
    expect((await productsOf(partner))[0]).toMatchObject({ price: '9.0000' });
  });

  it.each([
    ['updates', "update products set price = 7 where sku = 'A' and partner_id = ?"],
    ['updates again and again', 'update products set price = price + 1 where partner_id = ?'],
  ])('compares all rows after a manual transaction %s its products', async (_what, sql) => {
    const partner = newPartner();
    const feed = await service.api.loadFeed(`${head}A,Tent,1\nB,Lamp,2\n`, partner);
    const loaded = await productsOf(partner);
    await service.db.raw(sql, [await partnerNumber(partner)]);
    expect(await productsOf(partner)).not.toEqual(loaded);

    const { summary } = await run(feed);

    expect(summary.updated).toBeGreaterThan(0);
    expect(await productsOf(partner)).toEqual(loaded);
  });

  it('compares the same bytes again under another header', async () => {
    const partner = newPartner();
    const rows = 'A,Tent,Camping\n';
    await service.api.loadFeed(`sku,product_name,brand\n${rows}`, partner);

    const { job } = await service.api.loadFeed(`sku,product_name,category\n${rows}`, partner);

    expect(job.summary).toMatchObject({ updated: 1, unchanged: 0 });
    expect(await productsOf(partner)).toMatchObject([{ brand: 'Camping', category: 'Camping' }]);
  });

  it.each([
    [
      'an unchanged row before a changed one',
      'A,Tent,1\nB,Lamp,2\nA,Tent,5\n',
      { updated: 1, unchanged: 1 },
      2,
    ],
    [
      'a changed row before an unchanged one',
      'A,Tent,5\nB,Lamp,2\nA,Tent,1\n',
      { updated: 0, unchanged: 2 },
      2,
    ],
    ['an unchanged row twice', 'A,Tent,1\nA,Tent,1\nB,Lamp,2\n', { updated: 0, unchanged: 2 }, 2],
    [
      'an unchanged row before one with a warning',
      'A,Tent,1\nB,Lamp,2\nA,Tent,0\n',
      { updated: 1, unchanged: 1 },
      2,
    ],
    [
      'an unchanged row before one that is skipped',
      'A,Tent,1\nB,Lamp,2\nA,,5\n',
      { updated: 0, unchanged: 2 },
      4,
    ],
  ])('lets the last valid row of a sku win: %s', async (_what, rows, counters, skippedLine) => {
    const partner = newPartner();
    await service.api.loadFeed(`${head}A,Tent,1\nB,Lamp,2\n`, partner);

    const { job, jobId } = await service.api.loadFeed(head + rows, partner);

    expect(job.summary).toEqual({
      processed: 3,
      inserted: 0,
      skipped: 1,
      withdrawn: 0,
      restored: 0,
      ...counters,
    });
    const { body } = await service.api.get(`/jobs/${jobId}/issues?severity=error`);
    expect(body.items.map(({ line }: { line: number }) => line)).toEqual([skippedLine]);
  });

  it('stages its feed again when another run of the partner has committed meanwhile', async () => {
    const partner = newPartner();
    const cheap = await service.api.loadFeed(`${head}A,Tent,1\n`, partner);
    const dear = await service.api.uploadFeed(`${head}A,Tent,2\n`, partner);
    const waiting = async (runs: number) => {
      const { rows } = await service.db.raw(
        "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query ~ 'pg_advisory_xact_lock|for no key update' and datname = current_database()",
      );
      return Number(rows[0].count) === runs;
    };
    const runs = await service.db.transaction(async (trx) => {
      await trx('partners').where({ partner_name: partner }).forUpdate().select();
      const first = run(dear);
      await eventually('the first run waits', () => waiting(1));
      // By the digests, its row is unchanged; then the first run invalidates them.
      const second = run(cheap);
      await eventually('both wait', () => waiting(2));
      return { first, second };
    });

    expect((await runs.first).summary).toMatchObject({ updated: 1 });
    expect((await runs.second).summary).toMatchObject({ updated: 1, unchanged: 0 });
    expect(await productsOf(partner)).toMatchObject([{ price: '1.0000' }]);
  });
});

describe('a first load straight into products', () => {
  it('has the same result as a staged load, for any bytes', async () => {
    const { db, objectStore } = service;
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          anyFeed.map((csv) => Buffer.from(csv)),
          anyBytes,
        ),
        async (csv) => {
          const [direct, staged] = [newPartner(), newPartner()];
          const upload = await service.api.upload({ csv, partnerName: direct });
          if (upload.status !== 201) return;
          const jobId = upload.body.validation_job_id as string;
          const other = await service.api.uploadFeed(csv, staged);

          const requested = await requestRunOf(db, Number(jobId.slice(2)), { attempts: 1 });
          await runFeed(requested, {
            db,
            objectStore,
            log: createLog('silent'),
            firstLoadBytes: 0,
          });
          await run(other);

          expect(await resultOf(jobId)).toEqual(await resultOf(other.jobId));
          expect(await productsOf(direct)).toEqual(await productsOf(staged));
          const again = await run({ jobId });
          if (again.status === 'completed') expect(again.summary).toMatchObject({ inserted: 0, updated: 0 });
        },
      ),
      casesFor('first loads', 4),
    );
  });
});

describe('digests beyond the memory budget', () => {
  const header = strictHeader('sku,product_name\n');
  const record = (at: number) => Buffer.from(`S${at},Tent`);
  const place = { line: 2, lastLine: 2, row: 1 };

  /** Loads a partner's digests with a budget of `blocks`. */
  function load(
    partnerId: number,
    blocks: number,
    work: (stored: PartnerDigests, digests: RecordDigests) => unknown,
  ) {
    return service.db.transaction(async (trx) => {
      const stored = new PartnerDigests(trx, partnerId, new BlockBudget(blocks));
      await work(stored, await stored.load(header));
      await stored.save();
      stored.release();
    });
  }

  it('stage the records of blocks that were not loaded, and delete these blocks if rows were staged', async () => {
    const partner = newPartner();
    await service.api.uploadFeed('sku,product_name\nA,B\n', partner);
    const partnerId = await partnerNumber(partner);
    const last = 2 * recordsPerBlock;
    await load(partnerId, 3, (_stored, digests) => {
      for (let at = 0; at <= last; at++) {
        expect(digests.isUnchanged(record(at), place)).toBe(false);
        digests.markStaged(`S${at}`, true);
      }
    });
    const blocks = () =>
      service
        .db('digest_blocks')
        .where({ partner_id: partnerId })
        .orderBy('block_number')
        .pluck('block_number');
    expect(await blocks()).toEqual([0, 1, 2]);

    await load(partnerId, 1, (_stored, digests) => {
      expect(digests.isUnchanged(record(0), place)).toBe(true);
      expect(digests.isUnchanged(record(last), place)).toBe(false);
    });
    expect(await blocks()).toEqual([0, 1, 2]);
    await load(partnerId, 1, (_stored, digests) => {
      expect(digests.isUnchanged(record(last), place)).toBe(false);
      expect(digests.markStaged(`S${last}`, true)).toBeUndefined();
    });
    expect(await blocks()).toEqual([0]);
  });

  it('recognize a record at any position, but only once', async () => {
    const partner = newPartner();
    await service.api.uploadFeed('sku,product_name\nA,B\n', partner);
    const partnerId = await partnerNumber(partner);
    const numbers = Array.from({ length: recordsPerBlock + 10 }, (_, at) => at);
    await load(partnerId, 2, (_stored, digests) => {
      for (const at of numbers) {
        digests.isUnchanged(record(at), place);
        digests.markStaged(`S${at}`, true);
      }
    });

    for (const order of [numbers, numbers.toReversed(), numbers.toSorted((a, b) => (a % 7) - (b % 7))]) {
      await load(partnerId, 2, (_stored, digests) => {
        expect(digests.isUnchanged(record(-1), place)).toBe(false);
        expect(order.filter((at) => !digests.isUnchanged(record(at), place))).toEqual([]);
        expect(order.filter((at) => digests.isUnchanged(record(at), place))).toEqual([]);
      });
    }
  });

  it('return their memory to the budget', () => {
    const budget = new BlockBudget(1);
    const one = new RecordDigests(digestContext(header), budget);
    one.isUnchanged(record(1), place);
    one.markStaged('S1', true);
    expect(budget.reserve()).toBe(false);
    one.release();
    expect(budget.reserve()).toBe(true);
  });
});

describe('the digest of a record', () => {
  const header = strictHeader('sku,product_name,price\n');

  it('does not depend on the description of a file without a format, so that digests of earlier releases stay valid', () => {
    const columns = Object.entries(header.positions).sort(([a], [b]) => (a < b ? -1 : 1));
    const lists = [...activeCurrencies, process.versions.unicode];
    const text = JSON.stringify([rulesVersion, lists, ',', columns, 3]);

    expect(digestContext(header)).toEqual(
      createHash('sha256').update(text).digest().subarray(0, digestBytes),
    );
  });

  it.each<[string, Partial<FeedHeader>]>([
    ['the delimiter', { delimiter: ';' }],
    ['the positions of product columns', { positions: { sku: 1, product_name: 0, price: 2 } }],
    ['the presence of product columns', { positions: { sku: 0, product_name: 1 } }],
    ['the number of fields of a row', { fieldCount: 4 }],
  ])('changes with %s', (_what, other) => {
    expect(digestContext({ ...header, ...other })).not.toEqual(digestContext(header));
    expect(digestContext({ ...header })).toEqual(digestContext(header));
  });

  it('changes with the collection that the feed names, also if it is main', () => {
    const contexts = [
      { isCollectionNamed: false },
      { isCollectionNamed: true },
      { isCollectionNamed: true, collection: 'winter' },
      { isCollectionNamed: false, mode: 'update' as const },
      { isCollectionNamed: true, mode: 'update' as const },
    ].map((of) => digestContext(header, rulesVersion, { ...defaultLoadOptions, ...of }).toString('hex'));

    expect(new Set(contexts).size).toBe(contexts.length);
    expect(contexts[0]).toBe(digestContext(header).toString('hex'));
  });

  it('changes with the version of the rules', () => {
    expect(digestContext(header, rulesVersion + 1)).not.toEqual(digestContext(header));
  });
});
