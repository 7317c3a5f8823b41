import { FileStore } from '../../src/base/storage/file-store';
import { createTestFolder } from '../support/harness';
import { findBrokenHistory } from '../support/history-invariants';
import { commits, killAndRestart, newPartner, says, startWorld, type World } from '../support/killed-world';
import { ofMatrix } from '../support/matrix';
import type { DatabaseCall } from '../support/postgres-proxy';

let local: World;
beforeAll(async () => {
  const folder = createTestFolder();
  local = await startWorld({ DATA_DIR: folder }, new FileStore(folder));
});

describe('the process is killed while products are changed', () => {
  const replace = { mode: 'replace' };

  /** Every change of a partner's products by sku: a price, or a withdrawal. */
  async function historyOf(partnerName: string): Promise<string[]> {
    const { rows } = await local.db.raw<{ rows: { line: string }[] }>(
      `select concat_ws(' ', sku, string_agg(
         case when withdrawn_at is null then cast(trim_scale(price) as text) else 'withdrawn' end, ', ' order by until_run_id
       )) as line
       from (
         select partner_id, sku, price, withdrawn_at, until_run_id from product_versions
         union all select partner_id, sku, price, withdrawn_at, null from products
       ) as version join partners using (partner_id)
       where partner_name = ? group by sku order by sku`,
      [partnerName],
    );
    return rows.map(({ line }) => line);
  }

  it.each(
    ofMatrix<[string, (call: DatabaseCall) => boolean, 'call' | 'answer']>(
      [
        ['after it has updated some', says('update products\n', 'etl'), 'answer'],
        ['after it has withdrawn others', says('update products set withdrawn_at', 'etl'), 'answer'],
        ['before the change is in force', says('insert into catalog_versions', 'etl'), 'call'],
        ['before its commit', commits('insert into catalog_versions', 'etl'), 'call'],
        ['after its commit, before the answer', commits('insert into catalog_versions', 'etl'), 'answer'],
      ],
      'after its commit, before the answer',
    ),
  )('by a run: %s', async (when, isHeld, what) => {
    const after = ['A 5, 6', 'B 7, withdrawn', 'C 1, withdrawn, 1'];
    const partner = newPartner();
    const { api } = local.service;
    await api.loadFeed('sku,product_name,price\nA,Tent,5\nB,Lamp,7\nC,Mat,1\n', partner, replace);
    await api.loadFeed('sku,product_name,price\nA,Tent,5\nB,Lamp,7\n', partner, replace);
    const feed = await api.uploadFeed('sku,product_name,price\nA,Tent,6\nC,Mat,1\n', partner, replace);
    const held = local.proxy.hold(isHeld, what).reached;
    const answer = api.post(`/jobs/${feed.jobId}/run`).catch(() => 'none');
    await held;

    await killAndRestart(local);

    expect(await answer).toBe('none');
    const isDone = when.startsWith('after its commit');
    expect(await historyOf(partner)).toEqual(isDone ? after : ['A 5', 'B 7', 'C 1, withdrawn']);
    const again = await local.service.api.post(`/jobs/${feed.jobId}/run`);
    expect(again.body).toMatchObject({
      status: 'completed',
      summary: isDone ? { unchanged: 2, withdrawn: 0 } : { updated: 2, restored: 1, withdrawn: 1 },
    });
    expect(await historyOf(partner)).toEqual(after);
    expect(await findBrokenHistory(local.db)).toEqual([]);
  });

  it.each(
    ofMatrix<[string, (call: DatabaseCall) => boolean, 'call' | 'answer']>(
      [
        ['after it has written the products', says('update products set run_id', 'etl'), 'answer'],
        ['before the change is in force', says('insert into catalog_versions', 'etl'), 'call'],
        ['before its commit', commits('insert into catalog_versions', 'etl'), 'call'],
        ['after its commit, before the answer', commits('insert into catalog_versions', 'etl'), 'answer'],
      ],
      'before its commit',
    ),
  )('by a revert: %s', async (when, isHeld, what) => {
    const [before, after] = [
      ['A 5, 6', 'B 7, withdrawn', 'C 1'],
      ['A 5, 6, 5', 'B 7, withdrawn, 7', 'C 1, withdrawn'],
    ];
    const partner = newPartner();
    const { api } = local.service;
    await api.loadFeed('sku,product_name,price\nA,Tent,5\nB,Lamp,7\n', partner, replace);
    const feed = await api.loadFeed('sku,product_name,price\nA,Tent,6\nC,Mat,1\n', partner, replace);
    const path = `/jobs/${feed.jobId}/revert?run=1`;
    const held = local.proxy.hold(isHeld, what).reached;
    const answer = api.post(path).catch(() => 'none');
    await held;

    await killAndRestart(local);

    expect(await answer).toBe('none');
    const isDone = when.startsWith('after its commit');
    expect(await historyOf(partner)).toEqual(isDone ? after : before);
    const { body: job } = await local.service.api.get(`/jobs/${feed.jobId}`);
    expect(job).toEqual(feed.job);
    const again = await local.service.api.post(path);
    expect(again.status).toBe(isDone ? 409 : 200);
    expect(await historyOf(partner)).toEqual(after);
    expect(await findBrokenHistory(local.db)).toEqual([]);
  });

  it.each(
    ofMatrix<[string, (call: DatabaseCall) => boolean, 'call' | 'answer', string]>(
      [
        ['after it is written', says('update products set withdrawn_at'), 'answer', 'A 5'],
        ['before its commit', commits('insert into catalog_versions'), 'call', 'A 5'],
        ['after its commit', commits('insert into catalog_versions'), 'answer', 'A 5, withdrawn'],
      ],
      'before its commit',
    ),
  )('by the withdrawal of one product: %s', async (_what, isHeld, what, after) => {
    const partner = newPartner();
    const { api } = local.service;
    await api.loadFeed('sku,product_name,price\nA,Tent,5\n', partner);
    const { body } = await api.get(`/products?partner_name=${encodeURIComponent(partner)}`);
    const path = `/products/${body.items[0].product_id}/withdraw`;
    const held = local.proxy.hold(isHeld, what).reached;
    const answer = api.post(path).catch(() => 'none');
    await held;

    await killAndRestart(local);

    expect(await answer).toBe('none');
    expect(await historyOf(partner)).toEqual([after]);
    expect((await local.service.api.post(path)).status).toBe(200);
    expect(await historyOf(partner)).toEqual(['A 5, withdrawn']);
  });
});
