import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import type { Database } from '../../../src/base/db/database';
import type { ApiClient } from '../../support/api-client';
import { startAppAt, startTestService, type TestService } from '../../support/service';
import { closedPort } from '../../support/network';
import { findBroken } from '../../support/service-invariants';
import { rawFilePath } from '../../support/stored-uploads';

let service: TestService;
let feedId: string;
beforeAll(async () => {
  service = await startTestService();
  const csv = 'sku,product_name,price\nA,Tent,5\nB,Lamp,7.50\nC,,1\n';
  ({ feedId } = await service.api.loadFeed(csv));
  await service.api.uploadFeed('sku,product_name\nQ,Queued\n');
  const items = ['PR00001', 'PR00002'].map((product_id) => ({ product_id, quantity: 2 }));
  await service.api.post('/orders', { partner_name: 'Acme', items });
});

const find = (db: Database = service.db, apis: ApiClient[] = [service.api]) =>
  findBroken({ db, objectStore: service.objectStore, apis }, { patienceMilliseconds: 100 });

/** Returns the findings while the database has this change. */
async function findAfter(...statements: string[]): Promise<string[]> {
  const trx = await service.db.transaction();
  try {
    for (const statement of statements) await trx.raw(statement);
    return await find(trx);
  } finally {
    await trx.rollback();
  }
}

it('finds nothing in consistent data', async () => {
  expect(await find()).toEqual([]);
});

/** Assigns the transaction a change number so much greater than the last one. */
const changeAfter = (more: number) =>
  `select set_config('partner_catalog.change', cast(max(run_id) + ${more} as text), true) from catalog_versions`;
/** Else a change of a run also changes its job. */
const withoutTriggers = 'set local session_replication_role = replica';
/** Turns versions that have ended back into manual changes. */
const resetPending = 'update product_versions set until_run_id = 9223372036854775807';

describe('finds', () => {
  it.each<[string, RegExp, string[]]>([
    [
      'a product of a feed that never ran',
      /^a product of a feed that never ran/,
      ['update products set feed_id = 2 where product_id = 1'],
    ],
    [
      'a product of a feed whose run failed',
      /^a product of a feed whose only run failed/,
      [
        "update validation_jobs set status = 'failed', failure_reason = 'x', inserted = 0, skipped = processed where job_id = 1",
        "update feeds set status = 'failed' where feed_id = 1",
      ],
    ],
    [
      'an object of a feed whose raw file was removed',
      /^a feed whose removed file is there/,
      ['update feeds set raw_file_removed_at = now() where feed_id = 1'],
    ],
    [
      'an object that was not deleted',
      /^an object that is still to be deleted/,
      ["insert into removed_objects values ('local', 'raw/x')"],
    ],
    [
      'a feed that is loaded by half',
      /^a feed that is loaded by half.*1 of 2/,
      ['delete from order_items where product_id = 2', 'delete from products where product_id = 2'],
    ],
    [
      'a feed that counts other products than it has',
      /^a feed of 2 products that counts 1/,
      ['update validation_jobs set inserted = 1, skipped = 2 where job_id = 1'],
    ],
    [
      'two products of one partner and sku',
      /^two products/,
      ['drop index products_partner_id_sku', "update products set sku = 'A'"],
    ],
    ['an order without items', /^an order without items/, ['delete from order_items']],
    ['an order whose total is not the sum', /^an order whose total/, ['update orders set total_amount = 1']],
    [
      'an item whose total is not the product',
      /^an item whose total/,
      [
        'alter table order_items drop constraint order_items_total_is_product',
        'update order_items set line_total = 1; update orders set total_amount = 2',
      ],
    ],
    ...[
      ['sales_by_partner', 'a partner', "('Acme', 'USD', 1, 1)"],
      ['sales_by_day', 'a day', "('2026-01-01', 'USD', 1, 1)"],
      ['sales_by_partner_and_day', 'a partner and a day', "('Acme', '2026-01-01', 'USD', 1, 1)"],
      ['sales_by_product', 'a product', "('Acme', 1, 'USD', 1, 1)"],
      ['sales_by_product_and_month', 'a product and a month', "('2026-01-01', 'Acme', 1, 'USD', 1, 1)"],
      ['sales_by_product_and_day', 'a product and a day', "('2026-01-01', 'Acme', 1, 'USD', 1, 1)"],
    ].map(([table, what, row]): [string, RegExp, string[]] => [
      `a sum in ${table} without orders`,
      RegExp(`^a sum of ${what} that is not`),
      [`insert into ${table} values ${row}`],
    ]),
    [
      'an order that is not in the sums',
      /^a sum of a partner that is not/,
      ['update sales_rollup set seen = pg_current_snapshot()', "update orders set transaction_id = '1'"],
    ],
    [
      'a feed without its submission job',
      /^a feed without both jobs/,
      ['delete from submission_jobs where feed_id = 2'],
    ],
    [
      'a feed without its validation job',
      /^a feed without both jobs/,
      ['delete from validation_jobs where feed_id = 2'],
    ],
    [
      'a job that is stuck',
      /^a job that is stuck/,
      ["update validation_jobs set status = 'running' where job_id = 2"],
    ],
    [
      'a feed that is stuck',
      /^a feed whose status/,
      ["update feeds set status = 'validated' where feed_id = 2"],
    ],
    [
      'counters that do not add up',
      /^counters/,
      [
        'alter table validation_jobs drop constraint validation_jobs_rows_accounted_for',
        'update validation_jobs set processed = 4 where job_id = 1',
      ],
    ],
    [
      'a version that ends before it begins',
      /^a version that does not begin/,
      [changeAfter(0), 'update products set price = 6 where product_id = 1'],
    ],
    [
      'a version whose end is not the number of the product',
      /^a product that does not begin/,
      [changeAfter(1), 'update products set price = 6 where product_id = 1'],
    ],
    [
      'a manual change that a run has passed over',
      /^a pending version/,
      ['update products set price = 6', changeAfter(1), 'update products set run_id = 1', resetPending],
    ],
    [
      'a product of a change that is not known',
      /^a product or version of a change that is not known/,
      ["set local partner_catalog.change = 'none'", 'update products set run_id = 1'],
    ],
    [
      'a change that is in force before an earlier one',
      /^a change that is in force before/,
      [
        "insert into catalog_versions select max(run_id) + 1, max(partner_id), '2000-01-01' from catalog_versions",
      ],
    ],
    [
      'a change by a failed run',
      /^a change by no completed run/,
      ["update runs set status = 'failed', failure_reason = 'x'"],
    ],
    [
      'more versions than a run has counted',
      /^a run that has counted other changes/,
      [changeAfter(0), 'update products set price = 6 where product_id = 1'],
    ],
    [
      'a run that is not in the list',
      /^a job whose last run is another/,
      [withoutTriggers, 'delete from runs'],
    ],
    [
      'a run without an end',
      /^a run that is stuck/,
      [withoutTriggers, "update runs set status = 'running', finished_at = null"],
    ],
    [
      'a feed whose object is another',
      /^a feed whose object is another/,
      ["update feeds set sha256 = decode(repeat('00', 32), 'hex') where feed_id = 1"],
    ],
    [
      'an object that no feed names',
      /^an object that no feed names/,
      [
        'delete from submission_jobs where feed_id = 2; delete from validation_jobs where feed_id = 2',
        'delete from feeds where feed_id = 2',
      ],
    ],
  ])('%s', async (_what, finding, statements) => {
    expect(await findAfter(...statements)).toContainEqual(expect.stringMatching(finding));
  });

  it('a feed without its object', async () => {
    const path = await rawFilePath(service, feedId);
    const away = `${path}.away`;
    renameSync(path, away);

    const found = await find();

    renameSync(away, path);
    expect(found).toContainEqual(expect.stringMatching(/^a feed without its object: 1 /));
  });

  it('a temporary file; the clean-up of a later day removes it', async () => {
    const folder = join(service.dataDir, 'objects/unfinished');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'left'), 'sku');
    const system = { db: service.db, objectStore: service.objectStore, apis: [] };

    expect(await find()).toEqual([expect.stringMatching(/^an unfinished upload: /)]);
    expect(await findBroken(system, { orphans: true })).toEqual([]);
    expect(await find()).toEqual([]);
  });

  it.each([
    ['in a transaction', 'api', 'begin'],
    ['of no pool', 'health', 'select 1'],
  ])('a connection that was left %s', async (_what, application_name, statement) => {
    const client = new Client({ ...service.address, application_name });
    await client.connect();
    await client.query(statement);

    const found = await find();

    await client.end();
    expect(found).toEqual([expect.stringContaining('a leaked connection')]);
  });

  it('a /health that does not report that the database is connected', async () => {
    const { api } = await startAppAt({
      host: '127.0.0.1',
      port: await closedPort(),
      user: 'x',
      database: 'x',
    });

    expect(await find(service.db, [api])).toEqual([
      expect.stringMatching(/^\/health is wrong: 200 .*unreachable/),
    ]);
  });
});
