import { openDatabase, type Database, type DatabaseAddress } from '../../../src/db/database';
import { afterFile, eventually, createTestFolder } from '../../support/harness';
import type { ApiClient, ApiResponse } from '../../support/api-client';
import { openDatabaseLine, administer, createEmptyDatabase, databaseUrl } from '../../support/databases';
import { holdOrders } from '../../support/runs-in-flight';
import { keysAreHeld, leaveAnsweredLongAgo, itDirectly } from '../../support/expectations';
import { filePart, formBody, formType, goodCsv, partnerPart, OpenUpload } from '../../support/requests';
import { startService, type ServiceProcess } from '../../support/process';
import { testKey } from '../../support/service';
import { filesBelow } from '../../support/stored-uploads';

const form = formBody([partnerPart(), filePart(goodCsv)]);
/** How much of it comes before the rows of its file. */
const begun = form.indexOf('TENT-2');
const orderBody = { partner_name: 'Acme Outdoor', items: [{ product_id: 'PR00001', quantity: 1 }] };

const order = (api: ApiClient, key: string) => api.post('/orders', orderBody, { 'idempotency-key': key });
const upload = (api: ApiClient, key: string) =>
  api.send('POST', '/feeds/upload', {
    headers: { 'content-type': formType, 'idempotency-key': key },
    body: form,
  });

let address: DatabaseAddress;
let db: Database;
const dataDir = createTestFolder();
const start = (url = databaseUrl(address)) =>
  startService({ env: { DATABASE_URL: url, API_KEYS: testKey, DATA_DIR: dataDir } });

/** It lives through all of these tests. */
let survivor: ServiceProcess;
let api: ApiClient;
beforeAll(async () => {
  address = await createEmptyDatabase();
  // The default.
  await administer(`alter database ${address.database} set client_connection_check_interval = 0`);
  db = openDatabase(address, { applicationName: 'test', connectionsMax: 2 });
  afterFile(() => db.destroy());
  survivor = await start();
  ({ api } = survivor);
  await api.loadFeed('sku,product_name,price\nTENT-2,Two-person tent,189.90\n');
});

/** What there is of orders, feeds and files. */
async function counts() {
  const [orders] = await db('orders').count({ count: '*' });
  const [feeds] = await db('feeds').count({ count: '*' });
  return {
    orders: Number(orders!.count),
    feeds: Number(feeds!.count),
    files: (await filesBelow(dataDir)).length,
  };
}

function expectFirst({ status, headers }: ApiResponse): void {
  expect({ status, replayed: headers.get('idempotent-replayed') }).toEqual({ status: 201, replayed: null });
}

function expectReplay(response: ApiResponse, body: unknown): void {
  expect({ status: response.status, body: response.body as unknown }).toEqual({ status: 201, body });
  expect(response.headers.get('idempotent-replayed')).toBe('true');
}

/** Begins an upload at this process, and sends a part of it. */
async function openUpload({ url }: ServiceProcess, key: string): Promise<OpenUpload> {
  const open = new OpenUpload({ url: url! }, { 'idempotency-key': key });
  await open.write(form.subarray(0, begun));
  return open;
}

describe('two processes on one database', () => {
  it('share the keys in use, also when one is killed', async () => {
    const before = await counts();
    const killed = await start();
    const open = await openUpload(killed, 'killed upload');
    const release = await holdOrders(address);
    order(killed.api, 'killed order').catch(() => undefined);
    await keysAreHeld({ db }, 2);

    const refused = [await upload(api, 'killed upload'), await order(api, 'killed order')];
    await killed.stop('SIGKILL');
    await keysAreHeld({ db }, 0);

    for (const { status, body } of refused) {
      expect({ status, body: body as unknown }).toEqual({
        status: 409,
        body: { detail: 'A request with this Idempotency-Key is still in progress.' },
      });
    }
    await release();
    open.abort();
    expect(await counts()).toMatchObject({ orders: before.orders, feeds: before.feeds });
    expectFirst(await upload(api, 'killed upload'));
    expectFirst(await order(api, 'killed order'));
  });

  it('replay responses of the other, also when it was killed between commit and response', async () => {
    const line = await openDatabaseLine(address);
    const killed = await start(line.url);
    const first = await order(killed.api, 'answered order');
    expectReplay(await order(api, 'answered order'), first.body);
    const before = await counts();

    line.loseAnswersOfCommits();
    const asked = [order(killed.api, 'lost order'), upload(killed.api, 'lost upload')];
    const answers = asked.map((answer) => answer.catch(() => 'no answer'));
    const after = { orders: before.orders + 1, feeds: before.feeds + 1, files: before.files + 1 };
    await eventually('both are committed', async () => expect(await counts()).toEqual(after));
    await killed.stop('SIGKILL');
    expect(await Promise.all(answers)).toEqual(['no answer', 'no answer']);

    const lostOrder = await order(api, 'lost order');
    const lostFeed = await upload(api, 'lost upload');
    expectReplay(lostOrder, (await api.get('/orders?limit=1')).body.items[0]);
    expectReplay(lostFeed, expect.objectContaining({ feed_id: expect.any(String) }));
    expect((await api.get(`/feeds/${lostFeed.body.feed_id}`)).status).toBe(200);
    expect(await counts()).toEqual(after);
  });
});

describe('a database that was unreachable', () => {
  it('makes a request 503, and its key can be used later', async () => {
    const line = await openDatabaseLine(address);
    const service = await start(line.url);
    const before = await counts();
    await line.cut();

    const refused = [await order(service.api, 'early order'), await upload(service.api, 'early upload')];
    await line.mend();

    expect(refused.map(({ status }) => status)).toEqual([503, 503]);
    expect(await counts()).toEqual(before);
    expectFirst(await order(service.api, 'early order'));
    expectFirst(await upload(service.api, 'early upload'));
    expect((await service.stop()).code).toBe(0);
  });
});

describe('the running service', () => {
  it('deletes responses after 24 hours', async () => {
    expectFirst(await order(api, 'old'));
    await leaveAnsweredLongAgo({ db }, 'old');

    const isThere = () => db('idempotency_keys').where('idempotency_key', 'old').first('idempotency_key');
    await eventually('it is forgotten', async () => expect(await isThere()).toBeUndefined());
  });

  itDirectly('stops while an upload holds a key, and leaves no connection', async () => {
    const open = await openUpload(survivor, 'stopped');
    await keysAreHeld({ db }, 1);

    const stopped = survivor.stop();
    await open.write(form.subarray(begun));
    open.end();

    expect((await open.response).status).toBe(201);
    expect((await stopped).code).toBe(0);
    await keysAreHeld({ db }, 0);
    const { rows } = await db.raw<{ rows: unknown[] }>(
      "select application_name from pg_stat_activity where datname = current_database() and application_name <> 'test'",
    );
    expect(rows).toEqual([]);
  });
});
