import type { Knex } from 'knex';
import type { Database } from '../../../src/base/db/database';
import { authenticateAny } from '../../../src/http/keys/authenticate';
import { digestOf, generateKey } from '../../../src/base/key-format';
import { KeyUse } from '../../../src/http/keys/key-use';
import { hasKeyInUse, insertKey, type ApiKeyRow } from '../../../src/http/keys/keys.repository';
import type { ApiClient } from '../../support/api-client';
import { documentedResponses, operations, type Operation } from '../../support/contract';
import { withStoredKey, startTestService, type TestService } from '../../support/service';
import { loadProducts } from '../../support/catalog';
import { putSource } from '../../support/source-requests';
import { putFormat } from '../../support/format-requests';
import { putWebhook } from '../../support/webhook-requests';
import { insertExampleWebhook } from '../../support/webhooks';

let service: TestService;
let reader: ApiClient;
beforeAll(async () => {
  service = await startTestService();
  await loadProducts(service, [
    { sku: 'TENT-2', price: '189.90', currency: 'EUR' },
    { sku: 'LAMP-1', price: '24.50', currency: 'EUR' },
  ]);
  const order = { partner_name: 'Acme Outdoor', items: [{ product_id: 'PR00001', quantity: 1 }] };
  expect((await service.api.post('/orders', order)).status).toBe(201);
  await putFormat(service.api, 'Acme Outdoor', 'weekly-price-list');
  await insertExampleWebhook(service.db);
  await putSource(service.api, 'Acme Outdoor', 'daily-export', { url: 'https://feeds.acme.example/' });
  await putWebhook(service.api, 'Acme Outdoor', 'job-events', { url: 'https://hooks.acme.example/' });
  reader = await withStoredKey(service, null, 'reader', { is_read_only: true });
});

const readOnly = { status: 403, body: { detail: 'This API key is read-only.' } };
const sendExample = (api: ApiClient, { method, examplePath, exampleBody }: Operation) =>
  api.send(method, examplePath, exampleBody());
const keyed = operations.filter(({ needsKey }) => needsKey);
const onlyReads = ({ method, operationId }: Operation) =>
  method === 'GET' || ['inspectFeed', 'planJob'].includes(operationId);

describe('a read-only key', () => {
  it.each(keyed.filter(onlyReads))('can use $title', async (operation) => {
    expect((await sendExample(reader, operation)).status).toBe(operation.success);
  });

  it.each(keyed.filter((operation) => !onlyReads(operation)))(
    'gets the documented 403 from $title',
    async (operation) => {
      const before = await service.db('feeds').count('* as feeds');
      const orders = await service.db('orders').count('* as orders');

      const response = await sendExample(reader, operation);

      expect(response).toMatchObject(readOnly);
      expect(response.headers.get('x-error-code')).toBe('read_only_key');

      expect(await service.db('feeds').count('* as feeds')).toEqual(before);
      expect(await service.db('orders').count('* as orders')).toEqual(orders);
      const documented = documentedResponses.find(
        ({ operationId, status }) => operationId === operation.operationId && status === 403,
      );
      expect(JSON.stringify(documented?.examples)).toContain('This API key is read-only.');
    },
  );

  it('gets 415, 400 and 422 before the 403, and the 403 before 404 and 409', async () => {
    expect((await reader.post('/orders', { partner_name: 'Acme Outdoor' })).status).toBe(422);
    expect((await reader.post('/orders', { partner_name: 'Acme Outdoor', items: [] })).status).toBe(400);
    const headers = { 'content-type': 'text/plain' };
    expect((await reader.send('POST', '/orders', { headers, body: 'x' })).status).toBe(415);
    const unknown = { partner_name: 'Acme Outdoor', items: [{ product_id: 'PR99999', quantity: 1 }] };
    expect(await reader.post('/orders', unknown)).toMatchObject(readOnly);
    expect(await reader.post('/jobs/JV99999/run')).toMatchObject(readOnly);
    expect(await reader.post('/jobs/JS00001/cancel')).toMatchObject(readOnly);
  });

  it('can be limited to a partner too', async () => {
    const api = await withStoredKey(service, 'Birch', 'reader of Birch', { is_read_only: true });

    expect((await api.get('/products')).body).toMatchObject({ count: 0 });
    expect(await api.upload({ partnerName: 'Birch', csv: 'sku,product_name\nA,A\n' })).toMatchObject(
      readOnly,
    );
  });
});

describe('a key that expires', () => {
  const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000);

  it('works until it expires, and gets 401 afterwards, also from a cache', async () => {
    const key = generateKey();
    const row = { key_name: 'short', key_digest: digestOf(key), partner_name: null };
    await insertKey(service.db, { ...row, expires_at: inSeconds(3600) });
    const authenticate = authenticateAny([], service.db);
    expect(await authenticate(key)).toMatchObject({ keyName: 'short', isReadOnly: false });

    const now = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 3_600_001);
    expect(await authenticate(key)).toBeUndefined();
    now.mockRestore();

    await service
      .db('api_keys')
      .where('key_name', 'short')
      .update({ expires_at: inSeconds(-1) });
    expect(await service.api.withKey(key).get('/products')).toMatchObject({
      status: 401,
      body: { detail: 'Invalid or missing API key' },
    });
  });

  it('does not count as a key at start-up once it has expired', async () => {
    const { db } = await startTestService();
    const row = { key_name: 'one', key_digest: digestOf('one'), partner_name: null };
    await insertKey(db, { ...row, expires_at: inSeconds(3600) });
    expect(await hasKeyInUse(db)).toBe(true);

    await db('api_keys').update({ expires_at: inSeconds(-1) });

    expect(await hasKeyInUse(db)).toBe(false);
  });
});

it.each([
  ['is read-only', { is_read_only: true }],
  ['expires', { expires_at: new Date(Date.now() + 3_600_000) }],
])('a key that %s is unknown to release 1.2.0, which would grant full access', async (what, limits) => {
  const key = generateKey();
  const row = { key_name: `of 1.2.0, ${what}`, key_digest: digestOf(key), partner_name: null };
  await insertKey(service.db, { ...row, ...limits });

  // The look-up of release 1.2.0.
  const found = await service.db('api_keys').where({ key_digest: digestOf(key), revoked_at: null });

  expect(found).toEqual([]);
  expect((await service.api.withKey(key).get('/products')).status).toBe(200);
});

describe('the last use of a key', () => {
  async function startKey(name: string) {
    const key = generateKey();
    await insertKey(service.db, { key_name: name, key_digest: digestOf(key), partner_name: null });
    const use = new KeyUse(service.db);
    const authenticate = authenticateAny([], service.db, use.note);
    const row = async () => (await service.db<ApiKeyRow>('api_keys').where('key_name', name).first())!;
    return { key, use, authenticate, row };
  }

  async function statementsOf(work: () => Promise<unknown>): Promise<number> {
    let statements = 0;
    const count = () => statements++;
    service.db.on('query', count);
    await work();
    service.db.removeListener('query', count);
    return statements;
  }

  it('is written by one statement for any number of requests and keys, and by none without a request', async () => {
    const { key, use, authenticate, row } = await startKey('used');
    for (let request = 0; request < 20; request++) await authenticate(key);
    expect((await row()).last_used_at).toBeNull();

    expect(await statementsOf(() => use.flush())).toBe(1);
    expect(await statementsOf(() => use.flush())).toBe(0);

    expect((await row()).last_used_at!.getTime()).toBeGreaterThan(Date.now() - 60_000);
  });

  it('is written at most once a minute over all processes', async () => {
    const { key, use, authenticate, row } = await startKey('used by two');
    await authenticate(key);
    await use.flush();
    const first = (await row()).last_used_at;

    use.note((await row()).api_key_id);
    await use.flush();
    expect((await row()).last_used_at).toEqual(first);

    const past = service.db.raw("now() - interval '61 seconds'");
    await service.db('api_keys').where('key_name', 'used by two').update({ last_used_at: past });
    use.note((await row()).api_key_id);
    await use.flush();
    expect((await row()).last_used_at!.getTime()).toBeGreaterThanOrEqual(first!.getTime());
  });

  it('is written after the database was down', async () => {
    const { row } = await startKey('used while down');
    const clientOf = jest.fn(() => service.db.client as Knex.Client);
    clientOf.mockImplementationOnce(() => {
      throw new Error('down');
    });
    const use = new KeyUse({
      get client() {
        return clientOf();
      },
    } as Database);
    use.note((await row()).api_key_id);
    await expect(use.flush()).rejects.toThrow('down');

    await use.flush();

    expect((await row()).last_used_at).not.toBeNull();
  });

  it('is not written for a refused key', async () => {
    const { use, row } = await startKey('never used');

    expect((await service.api.withKey(generateKey()).get('/products')).status).toBe(401);
    await use.flush();

    expect((await row()).last_used_at).toBeNull();
  });
});
