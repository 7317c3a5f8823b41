import { migrations } from '../../migrations';
import { openDatabase } from '../../src/base/db/database';
import { formatId } from '../../src/base/ids';
import type { ApiClient, ApiResponse, UploadedFeed } from '../support/api-client';
import { eventually } from '../support/harness';
import { Load } from '../support/load';
import type { ServiceProcess } from '../support/process';
import { holdOrders, HeldProducts } from '../support/runs-in-flight';
import { itDirectly } from '../support/expectations';
import { expectReplay, keysAreHeld, leaveAnsweredLongAgo } from '../support/idempotency-keys';
import { filePart, formBody, formType, goodCsv, OpenUpload, partnerPart } from '../support/requests';
import { withStoredKey } from '../support/service';
import { pooledConnections, SeveralProcesses } from '../support/faults';
import { hasPgBouncer } from '../support/pgbouncer';

const skus = Array.from({ length: 50 }, (_, at) => `S${at}`);
const feedOf = (price: number, rows = skus) =>
  ['sku,product_name,price', ...rows.map((sku) => `${sku},Product ${sku},${price}`)].join('\n');

const run = (api: ApiClient, { jobId }: Pick<UploadedFeed, 'jobId'>) => api.post(`/jobs/${jobId}/run`);
const queue = (api: ApiClient, { jobId }: UploadedFeed, prefer = 'respond-async') =>
  api.post(`/jobs/${jobId}/run`, undefined, { prefer });
const statuses = (answers: ApiResponse[]) => answers.map(({ status }) => status);

/** Sends an order. The name of its buyer is its key. */
const order = (api: ApiClient, buyer: string) =>
  api.post(
    '/orders',
    { partner_name: buyer, items: [{ product_id: 'PR00001', quantity: 2 }] },
    { 'idempotency-key': buyer },
  );
const formOf = (partner: string) => formBody([partnerPart(partner), filePart(goodCsv)]);
/** Uploads a feed. The name of its partner is its key. */
const upload = (api: ApiClient, partner: string) =>
  api.send('POST', '/feeds/upload', {
    headers: { 'content-type': formType, 'idempotency-key': partner },
    body: formOf(partner),
  });

/** Starts the same upload, and sends a part of it. @returns a function that sends the rest */
async function openUpload(
  { url }: ServiceProcess,
  partner: string,
): Promise<{ open: OpenUpload; rest: Buffer }> {
  const open = new OpenUpload({ url }, { 'idempotency-key': partner });
  const form = formOf(partner);
  const begun = form.indexOf('TENT-2');
  await open.write(form.subarray(0, begun));
  return { open, rest: form.subarray(begun) };
}

let partners = 0;
const newPartner = () => `Partner ${++partners}`;

let all: SeveralProcesses;
let one: ApiClient;
let other: ApiClient;

const jobOf = async ({ jobId }: UploadedFeed) => (await other.get(`/jobs/${jobId}`)).body;
const hasStatus = (feed: UploadedFeed, status: string) =>
  eventually(`${feed.jobId} is ${status}`, async () => (await jobOf(feed)).status === status);

async function countsOf(partner: string): Promise<{ feeds: number; orders: number }> {
  const { rows } = await all.db.raw<{ rows: [{ feeds: number; orders: number }] }>(
    `select (select cast(count(*) as int) from feeds join partners using (partner_id) where partner_name = :partner) as feeds,
            (select cast(count(*) as int) from orders where partner_name = :partner) as orders`,
    { partner },
  );
  return rows[0];
}

function expectFirst({ status, headers }: ApiResponse): void {
  expect({ status, replayed: headers.get('idempotent-replayed') }).toEqual({ status: 201, replayed: null });
}

/** Restarts one of the API processes after its exit. */
async function restart(at: 0 | 1): Promise<void> {
  await all.startApi(at);
  [one, other] = all.clients;
}

describe('two API processes on one database, one of them through a connection that can be cut', () => {
  beforeAll(async () => {
    all = await SeveralProcesses.start();
    [one, other] = all.clients;
    await one.loadFeed(feedOf(1), newPartner());
  });

  it("replay each other's responses, also of a process that was killed between commit and response", async () => {
    const [buyer, partner] = [newPartner(), newPartner()];
    const answered = newPartner();
    const first = await order(other, answered);
    expectReplay(await order(one, answered), first);

    all.line!.loseAnswersOfCommits();
    const lost = [order(other, buyer), upload(other, partner)].map((answer) =>
      answer.catch(() => 'no answer'),
    );
    const isCommitted = async () => {
      expect([await countsOf(buyer), await countsOf(partner)]).toEqual([
        { feeds: 0, orders: 1 },
        { feeds: 1, orders: 0 },
      ]);
    };
    await eventually('both are committed', isCommitted);
    await all.apis[1]!.stop('SIGKILL');

    expect(await Promise.all(lost)).toEqual(['no answer', 'no answer']);
    const replayed = [await order(one, buyer), await upload(one, partner)];
    for (const { status, headers } of replayed) {
      expect({ status, replayed: headers.get('idempotent-replayed') }).toEqual({
        status: 201,
        replayed: 'true',
      });
    }
    expect(replayed[0]!.body).toEqual((await one.get('/orders?limit=1')).body.items[0]);
    expect((await one.get(`/feeds/${replayed[1]!.body.feed_id}`)).body.partner_name).toBe(partner);
    await isCommitted();
    await all.line!.cut();
    await all.line!.mend();
    await restart(1);
  });

  it('respond 503 to a request whose database is unreachable, and its key can be used later', async () => {
    const [buyer, partner] = [newPartner(), newPartner()];
    await all.line!.cut();

    const refused = [await order(other, buyer), await upload(other, partner)];
    await all.line!.mend();

    expect(statuses(refused)).toEqual([503, 503]);
    expect([await countsOf(buyer), await countsOf(partner)]).toEqual([
      { feeds: 0, orders: 0 },
      { feeds: 0, orders: 0 },
    ]);
    expectFirst(await order(other, buyer));
    expectFirst(await upload(other, partner));
  });

  it('delete responses after 24 hours', async () => {
    const buyer = newPartner();
    expectFirst(await order(one, buyer));
    await leaveAnsweredLongAgo(all, buyer);

    const isThere = () => all.db('idempotency_keys').where('idempotency_key', buyer).first('idempotency_key');
    await eventually('it is forgotten', async () => expect(await isThere()).toBeUndefined());
  });

  it('create orders during a run that changes prices from one snapshot of prices, with the right total', async () => {
    const partner = newPartner();
    const [low, high] = [
      await one.uploadFeed(feedOf(10), partner),
      await one.uploadFeed(feedOf(20, skus.toReversed()), partner),
    ];
    await run(one, low);
    const { body } = await one.get(`/products?partner_name=${encodeURIComponent(partner)}&limit=5`);
    const items = (body.items as { product_id: string }[]).map(({ product_id }) => ({
      product_id,
      quantity: 3,
    }));
    let isOver = false;
    let latest: number | undefined;
    const ordering = [one, other, one, other].map(async (api) => {
      while (!isOver) {
        const { status, body: placed } = await api.post('/orders', { partner_name: 'Buyer', items });
        expect(status).toBe(201);
        const prices = new Set(
          (placed.items as { unit_price: number }[]).map(({ unit_price }) => unit_price),
        );
        const [price] = prices;
        expect({ prices: prices.size, known: price === 10 || price === 20 }).toEqual({
          prices: 1,
          known: true,
        });
        expect(placed.total_amount).toBe(price! * 3 * items.length);
        latest = price;
      }
    });
    const changing = async () => {
      for (let round = 1; round <= 2; round++) {
        for (const [api, feed, price] of [
          [other, high, 20],
          [one, low, 10],
        ] as const) {
          const { body: job } = await run(api, feed);
          expect(job).toMatchObject({ status: 'completed', summary: { updated: skus.length } });
          await eventually(`an order has the price ${price}`, () => latest === price);
        }
      }
    };
    try {
      // A failed order ends the run as well.
      await Promise.race([changing(), Promise.all(ordering)]);
    } finally {
      isOver = true;
      await Promise.all(ordering);
    }
  });

  it('reject a second run also in a process that starts later, and take over at once when the first is killed', async () => {
    const feed = await one.uploadFeed(feedOf(1), newPartner());
    const held = await HeldProducts.of(all.address);
    const { answer } = await held.run(one, feed);
    expect((await all.apis[1]!.stop()).code).toBe(0);
    await restart(1);

    expect((await jobOf(feed)).status).toBe('running');
    const refused = await run(other, feed);
    await all.apis[0]!.stop('SIGKILL');
    await hasStatus(feed, 'failed');
    await held.release();

    expect([refused.status, refused.body]).toEqual([
      409,
      { detail: `Job ${feed.jobId} is already running.` },
    ]);
    expect(await answer).toBeUndefined();
    expect((await run(other, feed)).body.summary).toMatchObject({ inserted: skus.length });
    await restart(0);
  });

  it('serve uploads, runs and orders while one is killed and restarted, and then the other', async () => {
    const alive = new Set<ServiceProcess>(all.apis);
    let turn = 0;
    const load = await Load.start(() => [...alive][turn++ % alive.size]?.api);
    const moreWork = async () => {
      const before = load.done;
      await eventually('work is done', () => load.done > before + 20);
    };
    await moreWork();

    for (const at of [0, 1] as const) {
      const killed = all.apis[at]!;
      await killed.stop('SIGKILL');
      // The other serves alone after some clients have noticed.
      await moreWork();
      alive.delete(killed);
      await restart(at);
      alive.add(all.apis[at]!);
      await moreWork();
    }

    await load.stop();
    expect(await load.findBroken(all.db)).toEqual([]);
    // The other processes find the runs of a killed one at once or within seconds.
    await eventually('no job is running', async () => {
      expect(await all.db('validation_jobs').where('status', 'running')).toEqual([]);
    });
    // Neither process executes the queue: a queued run of a killed process waits until it is requested again.
    const requested = all.db<{ job_id: number }>('runs').where('status', 'queued');
    for (const { job_id } of await requested.select('job_id')) {
      const { body } = await run(one, { jobId: formatId('JV', job_id) });
      expect(body.status).toBe('completed');
    }
  });

  it('reject a revoked key on both', async () => {
    const key = await withStoredKey({ api: one, db: all.db }, null);
    const ask = () => Promise.all(all.apis.map(({ url }) => key.at(url!).get('/products?limit=1')));
    expect(statuses(await ask())).toEqual([200, 200]);

    await all.db('api_keys').update({ revoked_at: all.db.fn.now() });

    await eventually('both refuse it', async () => expect(statuses(await ask())).toEqual([401, 401]));
  });

  it('leave consistent data', async () => {
    expect(await all.findBroken()).toEqual([]);
  });

  itDirectly('stop while an upload holds a key, and leave no connection', async () => {
    const { open, rest } = await openUpload(all.apis[0]!, newPartner());
    await keysAreHeld(all, 1);

    const stopped = all.stop();
    await open.write(rest);
    open.end();

    expect((await open.response).status).toBe(201);
    expect(await stopped).toEqual([0, 0]);
    await keysAreHeld(all, 0);
    // PostgreSQL lists its own workers, of autovacuum for example, beside connections.
    await eventually('the server has closed them', async () => {
      const { rows } = await all.db.raw<{ rows: unknown[] }>(
        `select application_name from pg_stat_activity
         where datname = current_database() and backend_type = 'client backend' and application_name <> 'test'`,
      );
      expect(rows).toEqual([]);
    });
  });
});

/** Session state (locks, transactions, notices, temporary tables) must not need a dedicated session. */
describe(`two API processes and two workers, ${hasPgBouncer ? 'through PgBouncer' : 'directly'}`, () => {
  beforeAll(async () => {
    all = await SeveralProcesses.start({ isPooled: hasPgBouncer, workers: 2 });
    [one, other] = all.clients;
    await one.loadFeed(feedOf(2), newPartner());
  });

  const runCount = async ({ jobId }: UploadedFeed) =>
    (
      await all
        .db('runs')
        .where('job_id', Number(jobId.slice(2)))
        .whereNot('status', 'queued')
    ).length;
  /** Sends requests concurrently, alternating between both processes. */
  const atBoth = <T>(count: number, send: (api: ApiClient) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: count }, (_, at) => send(at % 2 === 0 ? one : other)));

  it('have migrated an empty database together', async () => {
    const names = (table: string) => all.db(table).orderBy('id').pluck<string[]>('name');
    expect([...(await names('knex_migrations')), ...(await names('schema_migrations'))]).toEqual(
      Object.keys(migrations),
    );
  });

  describe('a request with an Idempotency-Key that is sent to both concurrently is executed once', () => {
    it.each([
      ['an upload', 8, upload, { feeds: 1, orders: 0 }],
      ['twenty times the same order', 20, order, { feeds: 0, orders: 1 }],
    ] as const)('%s', async (_what, count, send, expected) => {
      const partner = newPartner();

      const answers = await atBoth(count, (api) => send(api, partner));

      const firsts = answers.filter(
        ({ status, headers }) => status === 201 && !headers.get('idempotent-replayed'),
      );
      expect(firsts).toHaveLength(1);
      for (const answer of answers) {
        if (answer === firsts[0]) continue;
        if (answer.status === 409) expect(answer.body.detail).toMatch(/still in progress/);
        else expectReplay(answer, firsts[0]!);
      }
      for (const api of [one, other]) expectReplay(await send(api, partner), firsts[0]!);
      expect(await countsOf(partner)).toEqual(expected);
    });

    it('is rejected by one while the other executes it, and can be retried after that one is killed', async () => {
      const [buyer, partner] = [newPartner(), newPartner()];
      const { open } = await openUpload(all.apis[1]!, partner);
      await keysAreHeld(all, 1);
      const release = await holdOrders(all.address);
      const lost = order(other, buyer).catch(() => 'no answer');
      await keysAreHeld(all, 2);

      const refused = [await upload(one, partner), await order(one, buyer)];
      await all.apis[1]!.stop('SIGKILL');
      await keysAreHeld(all, 0);
      await release();
      open.abort();

      for (const { status, body } of refused) {
        expect({ status, body: body as unknown }).toEqual({
          status: 409,
          body: { detail: 'A request with this Idempotency-Key is still in progress.' },
        });
      }
      expect(await lost).toBe('no answer');
      expectFirst(await upload(one, partner));
      expectFirst(await order(one, buyer));
      expect([await countsOf(partner), await countsOf(buyer)]).toEqual([
        { feeds: 1, orders: 0 },
        { feeds: 0, orders: 1 },
      ]);
      await restart(1);
    });
  });

  describe('runs', () => {
    it('of one job, concurrently: one loads it, and the others get 409, the same result, or find it unchanged', async () => {
      for (let round = 1; round <= 3; round++) {
        const feed = await one.uploadFeed(feedOf(round), newPartner());

        const answers = await Promise.all([run(one, feed), run(other, feed), run(one, feed)]);

        const answered = answers.filter(({ status }) => status === 200).map(({ body }) => body);
        expect(answers.filter(({ status }) => status === 409)).toHaveLength(answers.length - answered.length);
        expect(answered.length).toBeGreaterThan(0);
        // At the time of the response, another request may have started the job again.
        for (const { status, summary } of answered) {
          if (status === 'completed')
            expect(summary).toMatchObject({ processed: skus.length, updated: 0, skipped: 0 });
          else expect(['queued', 'running']).toContain(status);
        }
        expect((await jobOf(feed)).status).toBe('completed');
        const { body } = await one.get(`/jobs/${feed.jobId}/runs`);
        const runs = body.items as { status: string; summary: { inserted: number } }[];
        expect(new Set(runs.map(({ status }) => status))).toEqual(new Set(['completed']));
        expect(runs.reduce((sum, { summary }) => sum + summary.inserted, 0)).toBe(skus.length);
      }
    });

    it.each(['a worker', 'the other process'])(
      'in progress on %s can be cancelled and followed on the first, and change nothing',
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

    it('of feeds of one new partner with the same skus, rows in opposite order, load whole one after the other', async () => {
      const partner = newPartner();
      const many = Array.from({ length: 300 }, (_, at) => `S${at}`);
      const feeds = await Promise.all(
        [1, 2, 3, 4, 5, 6].map((price) =>
          (price % 2 ? one : other).uploadFeed(feedOf(price, price % 3 ? many : many.toReversed()), partner),
        ),
      );

      const answers = await Promise.all(
        feeds.map((feed, at) => (at < 3 ? run : queue)(at % 2 ? one : other, feed)),
      );

      expect(statuses(answers)).toEqual([200, 200, 200, 202, 202, 202]);
      for (const feed of feeds) await hasStatus(feed, 'completed');
      const summaries: { inserted: number; updated: number }[] = await Promise.all(
        feeds.map(async (feed) => (await jobOf(feed)).summary),
      );
      const [first, ...later] = summaries.sort((a, b) => b.inserted - a.inserted);
      expect(first).toMatchObject({ inserted: many.length, updated: 0 });
      for (const summary of later) expect(summary).toMatchObject({ inserted: 0, updated: many.length });
      const products = await all
        .db('products')
        .join('partners', 'partners.partner_id', 'products.partner_id')
        .where('partner_name', partner)
        .select(
          all.db.raw('count(*) as products, count(distinct sku) as skus, count(distinct price) as prices'),
        );
      expect(products).toEqual([{ products: many.length, skus: many.length, prices: 1 }]);
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
      expect(await all.db('runs').whereIn('status', ['queued', 'running'])).toEqual([]);
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

    it('of a killed worker are taken over by the other, and by the restarted one when the other is killed too', async () => {
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
      expect((await jobOf(feed)).summary).toMatchObject({ processed: skus.length, inserted: skus.length });
    });
  });

  (hasPgBouncer ? it : it.skip)('share connections, without leftover session state', async () => {
    const { database } = all.address;
    const clients = (await all.pooler!.ask('show clients')).filter((client) => client.database === database);
    expect(clients.length).toBeGreaterThan(pooledConnections);

    // Enough concurrent transactions that every connection has one.
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

  it('leave consistent data, and stop', async () => {
    expect(await all.findBroken()).toEqual([]);
    expect(await all.stop()).toEqual([0, 0, 0, 0]);
  });
});
