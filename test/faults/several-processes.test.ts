import { migrations } from '../../migrations';
import { openDatabase } from '../../src/db/database';
import type { ApiClient, ApiResponse, UploadedFeed } from '../support/api-client';
import { eventually } from '../support/harness';
import { holdOrders, HeldProducts } from '../support/runs-in-flight';
import { expectReplay, keysAreHeld } from '../support/expectations';
import { filePart, formBody, formType, partnerPart } from '../support/requests';
import { withStoredKey } from '../support/service';
import { pooledConnections, SeveralProcesses, ways } from '../support/faults';

const skus = Array.from({ length: 50 }, (_, at) => `S${at}`);
const feedOf = (price: number, rows = skus) =>
  ['sku,product_name,price', ...rows.map((sku) => `${sku},Product ${sku},${price}`)].join('\n');

const run = (api: ApiClient, { jobId }: UploadedFeed) => api.post(`/jobs/${jobId}/run`);
const queue = (api: ApiClient, { jobId }: UploadedFeed, prefer = 'respond-async') =>
  api.post(`/jobs/${jobId}/run`, undefined, { prefer });
const statuses = (answers: ApiResponse[]) => answers.map(({ status }) => status);

let partners = 0;
const newPartner = () => `Partner ${++partners}`;

/** Two API processes and two workers that share a database and a bucket. */
describe.each(ways)('two API processes and two workers, %s', (way) => {
  let all: SeveralProcesses;
  let one: ApiClient;
  let other: ApiClient;
  beforeAll(async () => {
    all = await SeveralProcesses.start(way);
    [one, other] = all.clients;
  });

  const job = async ({ jobId }: UploadedFeed) => (await other.get(`/jobs/${jobId}`)).body;
  const runCount = async ({ jobId }: UploadedFeed) =>
    (
      await all
        .db('validation_jobs')
        .where('job_id', Number(jobId.slice(2)))
        .pluck<number[]>('run_count')
    )[0];
  const hasStatus = (feed: UploadedFeed, status: string) =>
    eventually(`${feed.jobId} is ${status}`, async () => (await job(feed)).status === status);
  /** One request to one, the next to the other, and so on, all at once. */
  const atBoth = <T>(count: number, send: (api: ApiClient) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: count }, (_, at) => send(at % 2 === 0 ? one : other)));

  it('have migrated an empty database together', async () => {
    const names = (table: string) => all.db(table).orderBy('id').pluck<string[]>('name');
    expect([...(await names('knex_migrations')), ...(await names('schema_migrations'))]).toEqual(
      Object.keys(migrations),
    );
  });

  describe('a request with an Idempotency-Key that is sent to both concurrently is executed once', () => {
    /** @returns the first answer; of all others, each is that again, or was refused while the first was in progress */
    async function expectOnce(answers: ApiResponse[], again: (() => Promise<ApiResponse>)[]): Promise<void> {
      const firsts = answers.filter(
        ({ status, headers }) => status === 201 && !headers.get('idempotent-replayed'),
      );
      expect(firsts).toHaveLength(1);
      for (const answer of answers) {
        if (answer === firsts[0]) continue;
        if (answer.status === 409) expect(answer.body.detail).toMatch(/still in progress/);
        else expectReplay(answer, firsts[0]!);
      }
      for (const send of again) expectReplay(await send(), firsts[0]!);
    }

    it('an upload', async () => {
      const partner = newPartner();
      const body = formBody([partnerPart(partner), filePart(feedOf(1))]);
      const headers = { 'content-type': formType, 'idempotency-key': partner };
      const upload = (api: ApiClient) => api.send('POST', '/feeds/upload', { headers, body });

      const answers = await atBoth(8, upload);

      await expectOnce(answers, [() => upload(one), () => upload(other)]);
      const [feeds] = await all
        .db('feeds')
        .join('partners', 'partners.partner_id', 'feeds.partner_id')
        .where('partner_name', partner)
        .count({ count: '*' });
      expect(feeds).toEqual({ count: 1 });
    });

    it('fifty times the same order', async () => {
      await one.loadFeed(feedOf(2), newPartner());
      const { body } = await one.get('/products?limit=3');
      const items = (body.items as { product_id: string }[]).map(({ product_id }) => ({
        product_id,
        quantity: 2,
      }));
      const buyer = newPartner();
      const order = (api: ApiClient) =>
        api.post('/orders', { partner_name: buyer, items }, { 'idempotency-key': buyer });

      const answers = await atBoth(50, order);

      await expectOnce(answers, [() => order(one), () => order(other)]);
      const orders = await all.db('orders').where('partner_name', buyer).count({ count: '*' });
      expect(orders).toEqual([{ count: 1 }]);
    });

    it('is rejected by one while the other executes it, and can be retried when that was killed', async () => {
      const { body } = await one.get('/products?limit=1');
      const items = [{ product_id: body.items[0].product_id as string, quantity: 1 }];
      const order = (api: ApiClient) =>
        api.post('/orders', { partner_name: 'Killed', items }, { 'idempotency-key': 'killed' });
      const release = await holdOrders(all.address);
      const lost = order(other).catch(() => 'no answer');
      await keysAreHeld(all, 1);

      const refused = await order(one);
      await all.apis[1]!.stop('SIGKILL');
      await keysAreHeld(all, 0);
      await release();

      expect(refused.status).toBe(409);
      expect(await lost).toBe('no answer');
      expect((await order(one)).headers.get('idempotent-replayed')).toBeNull();
      expect(await all.db('orders').where('partner_name', 'Killed').count({ count: '*' })).toEqual([
        { count: 1 },
      ]);
      await all.startApi(1);
      [one, other] = all.clients;
    });
  });

  describe('runs', () => {
    it.each(['a worker', 'the other process'])(
      'in progress on %s are cancelled and followed on one, without effect',
      async (who) => {
        const feed = await one.uploadFeed(feedOf(1), newPartner());
        const held = await HeldProducts.of(all.address);
        const isByWorker = who === 'a worker';
        const running = isByWorker ? queue(other, feed) : held.run(other, feed);
        await running;
        await hasStatus(feed, 'running');
        await eventually('it is about to load', async () => {
          return (await one.get(`/feeds/${feed.feedId}`)).body.status === 'validated';
        });
        const tag = (await one.get(`/jobs/${feed.jobId}`)).headers.get('etag')!;
        const news = one.get(`/jobs/${feed.jobId}`, { prefer: 'wait=60', 'if-none-match': tag });

        const { status, body } = await one.post(`/jobs/${feed.jobId}/cancel`);

        expect([status, body.status, body.summary.inserted]).toEqual([200, 'failed', 0]);
        expect(body.message).toContain('The run was cancelled.');
        expect((await news).status).toBe(200);
        await held.release();
        expect((await run(one, feed)).body).toMatchObject({
          status: 'completed',
          summary: { inserted: skus.length },
        });
      },
    );

    it('of a job in progress on one are rejected by the other, which still serves reads', async () => {
      const partner = newPartner();
      const before = await one.loadFeed(`${feedOf(1)}\nBAD,Bad,no price`, partner);
      const feed = await one.uploadFeed(feedOf(2), partner);
      const held = await HeldProducts.of(all.address);
      const { answer } = await held.run(one, feed);

      const refused = await Promise.all([run(one, feed), run(other, feed), queue(other, feed)]);
      const read = await Promise.all([
        other.inspect({ partnerName: partner, csv: feedOf(3) }),
        other.post(`/jobs/${feed.jobId}/plan`),
        other.get(`/jobs/${before.jobId}/rejects.csv`),
        other.get(`/products?partner_name=${encodeURIComponent(partner)}&limit=1`),
        other.get(`/jobs/${feed.jobId}`),
      ]);
      await held.release();

      expect(statuses(refused)).toEqual([409, 409, 409]);
      expect(statuses(read)).toEqual([200, 200, 200, 200, 200]);
      expect(read[1].body.summary).toMatchObject({ updated: skus.length, inserted: 0 });
      expect(read[2].body).toContain('BAD');
      expect(read[3].body.items[0].price).toBe(1);
      expect(read[4].body.status).toBe('running');
      expect((await answer)!.body).toMatchObject({ status: 'completed', summary: { updated: skus.length } });
    });

    it('of feeds of one new partner with the same skus, requested from both and queued, create each sku once', async () => {
      const partner = newPartner();
      const feeds = await Promise.all(
        [1, 2, 3, 4, 5, 6].map((price) =>
          (price % 2 ? one : other).uploadFeed(feedOf(price, price % 3 ? skus : skus.toReversed()), partner),
        ),
      );

      const answers = await Promise.all(
        feeds.map((feed, at) => (at < 3 ? run : queue)(at % 2 ? one : other, feed)),
      );

      expect(statuses(answers)).toEqual([200, 200, 200, 202, 202, 202]);
      for (const feed of feeds) await hasStatus(feed, 'completed');
      const summaries = await Promise.all(feeds.map(async (feed) => (await job(feed)).summary));
      expect(summaries.map(({ inserted }: { inserted: number }) => inserted).sort()).toEqual([
        ...[0, 0, 0, 0, 0],
        skus.length,
      ]);
      const products = await all
        .db('products')
        .join('partners', 'partners.partner_id', 'products.partner_id')
        .where('partner_name', partner)
        .select(
          all.db.raw('count(*) as products, count(distinct sku) as skus, count(distinct price) as prices'),
        );
      expect(products).toEqual([{ products: skus.length, skus: skus.length, prices: 1 }]);
    });

    it('of one job that are queued on both concurrently are one run', async () => {
      const feed = await one.uploadFeed(feedOf(1), newPartner());
      const held = await HeldProducts.of(all.address);

      const answers = await atBoth(6, (api) => queue(api, feed));
      await all.workerAtWork();
      await held.release();

      expect(new Set(statuses(answers))).not.toContain(200);
      expect(statuses(answers)).toContain(202);
      expect(statuses(answers).every((status) => [202, 409].includes(status))).toBe(true);
      await hasStatus(feed, 'completed');
      expect(await all.db('validation_jobs').whereNotNull('run_requested_at')).toEqual([]);
      expect(await runCount(feed)).toBe(1);
    });

    it('of many partners are executed by the workers, while a client waits on either process', async () => {
      const feeds = await atBoth(12, (api) => api.uploadFeed(feedOf(1), newPartner()));

      const answers = await Promise.all(
        feeds.map((feed, at) => queue(at % 2 ? one : other, feed, 'respond-async, wait=60')),
      );

      expect(new Set(statuses(answers))).toEqual(new Set([200]));
      for (const { body } of answers)
        expect(body).toMatchObject({ status: 'completed', summary: { inserted: skus.length } });
    });

    it('of an API process that is killed are shown as failed by the others, and can be run there', async () => {
      const feed = await one.uploadFeed(feedOf(1), newPartner());
      const held = await HeldProducts.of(all.address);
      const { answer } = await held.run(one, feed);

      await all.apis[0]!.stop('SIGKILL');
      await hasStatus(feed, 'failed');
      await held.release();

      expect(await answer).toBeUndefined();
      expect((await run(other, feed)).body.summary).toMatchObject({ inserted: skus.length });
      await all.startApi(0);
      [one, other] = all.clients;
    });

    it('of a worker that is killed are taken over by the other, and by the restarted first when that is killed too', async () => {
      const feed = await one.uploadFeed(feedOf(1), newPartner());
      const held = await HeldProducts.of(all.address);
      await queue(one, feed);
      const isBegun = (runs: number) =>
        eventually(`run ${runs} has begun`, async () => (await runCount(feed)) === runs);

      const killed: number[] = [];
      for (const runs of [1, 2]) {
        await isBegun(runs);
        const at = await all.workerAtWork();
        await all.workers[at]!.stop('SIGKILL');
        killed.push(at);
        await isBegun(runs + 1);
        await all.startWorker(at);
      }
      await held.release();

      expect(killed.sort()).toEqual([0, 1]);
      await hasStatus(feed, 'completed');
      expect((await job(feed)).summary).toMatchObject({ processed: skus.length, inserted: skus.length });
    });
  });

  it('reject a revoked key on both', async () => {
    const key = await withStoredKey({ api: one, db: all.db }, null);
    const ask = () => Promise.all(all.apis.map(({ url }) => key.at(url!).get('/products?limit=1')));
    expect(statuses(await ask())).toEqual([200, 200]);

    await all.db('api_keys').update({ revoked_at: all.db.fn.now() });

    await eventually('both refuse it', async () => expect(statuses(await ask())).toEqual([401, 401]));
  });

  if (way === 'through PgBouncer') {
    it('share its connections, without leftover session state', async () => {
      const { database } = all.address;
      const clients = (await all.pooler!.ask('show clients')).filter(
        (client) => client.database === database,
      );
      expect(clients.length).toBeGreaterThan(pooledConnections);

      // Enough concurrent transactions that each connection has one.
      const through = openDatabase(
        { ...all.address, ...all.pooler!.address },
        { applicationName: 'test', connectionsMax: pooledConnections },
      );
      const kept: unknown[] = [];
      const look = async (left: number): Promise<void> =>
        through.transaction(async (trx) => {
          const { rows } = await trx.raw<{ rows: unknown[] }>(`
            select 'setting', name from pg_settings
            where source = 'session' and name not in ('application_name', 'client_encoding')
            union all select 'prepared statement', name from pg_prepared_statements
            union all select 'cursor', name from pg_cursors where is_holdable
            union all select 'session lock', objid::text from pg_locks where pid = pg_backend_pid() and locktype = 'advisory'
            union all select 'temporary table', relname from pg_class
              where relnamespace = pg_my_temp_schema() and relkind = 'r'`);
          kept.push(...rows);
          if (left > 1) await look(left - 1);
        });
      await look(pooledConnections - 2);
      await through.destroy();

      expect(kept).toEqual([]);
    });
  }

  it('leave consistent data, and stop', async () => {
    expect(await all.findBroken()).toEqual([]);
    expect(await all.stop()).toEqual([0, 0, 0, 0]);
  });
});
