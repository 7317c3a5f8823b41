import { parseId } from '../../src/base/ids';
import { eventually } from '../support/harness';
import { startTestService, type TestService } from '../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

let partners = 0;
const newPartner = () => `Partner ${++partners}`;

/** The partner's stored products by id, with the row version, which changes with every write. */
async function stored(partner: string) {
  const { rows } = await service.db.raw<{ rows: Record<string, unknown>[] }>(
    `select products.*, products.ctid::text as version from products join partners using (partner_id)
     where partner_name = ? order by product_id`,
    [partner],
  );
  return rows;
}

/** The last number drawn from the sequence; null if number blocks replace it. */
async function lastProductId(): Promise<number | null> {
  const { rows } = await service.db.raw<{ rows: { last: number | null }[] }>(
    "select last_value as last from pg_sequences where sequencename = 'products_product_id_seq'",
  );
  return rows[0]!.last;
}

const load = (csv: string, partner: string) => service.api.loadFeed(csv, partner);

describe('loading a feed', () => {
  it('numbers new products in the order of the file without gaps', async () => {
    const partner = newPartner();
    await load('sku,product_name\nseed,Seed\n', newPartner());
    const before = await lastProductId();

    const { job } = await load('sku,product_name\nc,C\na,A\nb,B\n', partner);

    expect(job.summary).toEqual({
      processed: 3,
      inserted: 3,
      updated: 0,
      unchanged: 0,
      skipped: 0,
      withdrawn: 0,
      restored: 0,
    });
    const products = await stored(partner);
    expect(products.map((product) => product.sku)).toEqual(['c', 'a', 'b']);
    const first = Number(products[0]!.product_id);
    expect(products.map((product) => product.product_id)).toEqual([first, first + 1, first + 2]);
    expect(first).toBeGreaterThan(before ?? 0);
  });

  it('preserves every character of a value', async () => {
    const partner = newPartner();
    const nasty = 'tab\there \\N \\. \\t back\\slash "quoted" \r\nnext\nline, กขค 𝔸 \u0001 é';

    await load(`sku,product_name,description\n1,\\N,"${nasty.replaceAll('"', '""')}"\n`, partner);

    expect(await stored(partner)).toEqual([
      expect.objectContaining({ product_name: '\\N', description: nasty }),
    ]);
  });

  it('separates products of different partners with the same skus', async () => {
    const [one, other] = [newPartner(), newPartner()];

    await load('sku,product_name\nx,One\n', one);
    const { job } = await load('sku,product_name\nx,Other\n', other);

    expect(job.summary.inserted).toBe(1);
    expect((await stored(one))[0]!.product_name).toBe('One');
  });

  it('loads the last valid row of a sku and reports the others', async () => {
    const partner = newPartner();

    const { job, jobId } = await load(
      'sku,product_name,price\nx,First,1\ny,Y,1\n x ,Second,2\nx,Third,3\nx,Bad,NA\n',
      partner,
    );

    expect(job.summary).toEqual({
      processed: 5,
      inserted: 2,
      updated: 0,
      unchanged: 0,
      skipped: 3,
      withdrawn: 0,
      restored: 0,
    });
    expect((await stored(partner)).map(({ sku, product_name }) => [sku, product_name])).toEqual([
      ['y', 'Y'],
      ['x', 'Third'],
    ]);
    const { body } = await service.api.get(`/jobs/${jobId}/issues`);
    expect(body.items.map((issue: { line: number; code: string }) => [issue.line, issue.code])).toEqual([
      [2, 'duplicate_sku'],
      [4, 'duplicate_sku'],
      [6, 'invalid_price'],
    ]);
  });
});

describe('loading a feed over existing products', () => {
  it('rewrites no unchanged row and consumes no product number', async () => {
    const partner = newPartner();
    const csv = 'sku,product_name,price,brand\na,A,19.90,\nb,B,"1,000",Acme\n';
    await load(csv, partner);
    const before = await stored(partner);
    const lastId = await lastProductId();

    const again = await load('brand,price,product_name,sku\n,19.9000,A,a\nAcme,$1000.0,B,b\n', partner);

    expect(again.job.summary).toEqual({
      processed: 2,
      inserted: 0,
      updated: 0,
      unchanged: 2,
      skipped: 0,
      withdrawn: 0,
      restored: 0,
    });
    expect(await stored(partner)).toEqual(before);
    expect(await lastProductId()).toBe(lastId);
  });

  it('rewrites only changed products: keeps id and created_at, sets feed_id', async () => {
    const partner = newPartner();
    const first = await load('sku,product_name,price\na,A,1\nb,B,2\n', partner);
    const [a, b] = await stored(partner);

    const second = await load('sku,product_name,price\na,A,1\nb,B,2.0001\nc,C,3\n', partner);

    expect(second.job.summary).toEqual({
      processed: 3,
      inserted: 1,
      updated: 1,
      unchanged: 1,
      skipped: 0,
      withdrawn: 0,
      restored: 0,
    });
    const products = await stored(partner);
    expect(products[0]).toEqual(a);
    expect(products[1]).toMatchObject({
      product_id: b!.product_id,
      created_at: b!.created_at,
      price: '2.0001',
      feed_id: parseId('FD', second.feedId),
    });
    expect(products[0]!.feed_id).toBe(parseId('FD', first.feedId));
    expect(products[2]!.product_id).toBe(Number(b!.product_id) + 1);
  });

  it('keeps values without a column in the feed, and clears those with an empty cell', async () => {
    const partner = newPartner();
    await load('sku,product_name,description,brand,price,currency\na,A,Text,Acme,5,EUR\n', partner);

    await load('sku,product_name,brand\na,A,\n', partner);

    expect(await stored(partner)).toEqual([
      expect.objectContaining({ description: 'Text', brand: null, price: '5.0000', currency: 'EUR' }),
    ]);
  });

  it('takes the currency from the price if the feed has no currency column', async () => {
    const partner = newPartner();
    await load('sku,product_name,price,currency\na,A,5,EUR\nb,B,5,EUR\n', partner);

    const { job } = await load('sku,product_name,price\na,A,5\nb,B,USD 5\n', partner);

    expect(job.summary).toMatchObject({ updated: 1, unchanged: 1 });
    expect((await stored(partner)).map((product) => product.currency)).toEqual(['EUR', 'USD']);
  });

  it('keeps a product that is not in the feed', async () => {
    const partner = newPartner();
    await load('sku,product_name\na,A\nb,B\n', partner);

    await load('sku,product_name\na,A\n', partner);

    expect(await stored(partner)).toHaveLength(2);
  });
});

describe('concurrent runs', () => {
  it('of one partner over the same skus in opposite order complete without deadlock, duplicates or mixed rows', async () => {
    const partner = newPartner();
    const rows = (name: string) => Array.from({ length: 2_000 }, (_, at) => `sku-${at},${name},${at}`);
    const feeds = await Promise.all(
      ['one', 'two', 'three', 'four'].map((name, at) => {
        const lines = at % 2 === 0 ? rows(name) : rows(name).reverse();
        return service.api.uploadFeed(`sku,product_name,price\n${lines.join('\n')}\n`, partner);
      }),
    );

    const runs = await Promise.all(feeds.map((feed) => service.api.post(`/jobs/${feed.jobId}/run`)));

    expect(runs.map((run) => run.body.status)).toEqual(Array(4).fill('completed'));
    const products = await stored(partner);
    expect(products).toHaveLength(2_000);
    // All rows are from the run that committed last.
    expect(new Set(products.map((product) => product.product_name)).size).toBe(1);
    const total = (counter: string) =>
      runs.reduce((sum, run) => sum + (run.body.summary[counter] as number), 0);
    expect([total('inserted'), total('updated')]).toEqual([2_000, 6_000]);
  });
});

describe('a run that fails', () => {
  it('changes no product, even if valid rows precede the error', async () => {
    const partner = newPartner();
    await load('sku,product_name\na,A\n', partner);
    const before = await stored(partner);
    const good = Array.from({ length: 5_000 }, (_, at) => `n${at},New`).join('\n');

    const { job } = await load(`sku,product_name,price\na,Changed,1\nx,X,NA\n${good}\n"b,B\n`, partner);

    expect(job).toMatchObject({
      status: 'failed',
      message:
        'ETL processing failed: The quote that opens in the record at line 5004 is never closed. ' +
        'Products processed: 1. Inserted: 0. Updated: 0. Unchanged: 0. Skipped: 1.',
      issue_counts: [
        {
          code: 'invalid_price',
          severity: 'error',
          count: 1,
          first_rows: [{ line: 3, row: 2, sku: 'x', value: 'NA' }],
        },
      ],
    });
    expect(await stored(partner)).toEqual(before);
  });

  it('with a lost connection is recorded as failed, changes nothing, and can be repeated', async () => {
    const partner = newPartner();
    await load('sku,product_name\na,A\n', partner);
    const { jobId } = await service.api.uploadFeed('sku,product_name\na,Changed\nb,B\n', partner);

    // The run has staged its rows and waits for the lock of the partner.
    const blocker = await service.db.transaction();
    await blocker.raw('select from partners where partner_name = ? for update', [partner]);
    const running = service.api.post(`/jobs/${jobId}/run`);
    const waiting = await eventually('it waits', async () => {
      const { rows } = await service.db.raw<{ rows: { pid: number }[] }>(
        `select pid from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock' and query like '%for no key update%'`,
      );
      return rows[0]?.pid ?? false;
    });
    await service.db.raw('select pg_terminate_backend(cast(? as integer))', [waiting]);
    const { body } = await running;
    await blocker.rollback();

    expect(body).toMatchObject({
      status: 'failed',
      message: expect.stringMatching(/^ETL processing failed: The products could not be saved\. Products/),
    });
    expect((await stored(partner)).map((product) => product.product_name)).toEqual(['A']);
    const again = await service.api.post(`/jobs/${jobId}/run`);
    expect(again.body.summary).toMatchObject({ inserted: 1, updated: 1 });
  });
});
