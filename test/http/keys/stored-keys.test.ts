import { authenticateAny } from '../../../src/http/keys/authenticate';
import { digestOf, generateKey } from '../../../src/base/key-format';
import { hasKeyInUse, insertKey, revokeKey } from '../../../src/http/keys/keys.repository';
import {
  startAppAt,
  withStoredKey,
  startTestService,
  testKey,
  type TestService,
} from '../../support/service';
import { closedPort } from '../../support/network';
import { eventually } from '../../support/harness';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

it('a key of the database grants the same access as one of the settings', async () => {
  const stored = await withStoredKey(service, null, 'unlimited');

  expect((await stored.get('/products')).status).toBe(200);
  expect((await stored.upload({ partnerName: 'Any', csv: 'sku,product_name\nA,A\n' })).status).toBe(201);
});

it('a key of another database gets 401', async () => {
  expect(await service.api.withKey(generateKey()).get('/products')).toMatchObject({
    status: 401,
    body: { detail: 'Invalid or missing API key' },
  });
});

it('a revoked key is rejected within seconds by every process, and its name can be used again', async () => {
  const { db } = service;
  const key = generateKey();
  await insertKey(db, { key_name: 'to revoke', key_digest: digestOf(key), partner_name: null });
  const processes = [authenticateAny([], db), authenticateAny([], db)];
  for (const authenticate of processes)
    expect(await authenticate(key)).toMatchObject({ keyName: 'to revoke' });

  expect(await revokeKey(db, 'to revoke')).toBe(true);
  expect(await revokeKey(db, 'to revoke')).toBe(false);

  for (const authenticate of processes) {
    await eventually('the key is refused', async () => (await authenticate(key)) === undefined);
  }
  await withStoredKey(service, null, 'to revoke');
});

it('two keys in use cannot have the same name', async () => {
  await withStoredKey(service, null, 'twice');

  await expect(withStoredKey(service, 'Acme', 'twice')).rejects.toThrow(
    'There is a key named twice already.',
  );
});

it('stores only digests of keys', async () => {
  const key = generateKey();
  await insertKey(service.db, { key_name: 'digest only', key_digest: digestOf(key), partner_name: null });

  const rows = JSON.stringify(await service.db('api_keys').select(service.db.raw('api_keys::text')));

  expect(rows).toContain(digestOf(key).toString('hex'));
  expect(rows).not.toContain(key.slice(5, 15));
});

it('queries the database once for concurrent requests with one key', async () => {
  const key = generateKey();
  await insertKey(service.db, { key_name: 'at once', key_digest: digestOf(key), partner_name: null });
  const authenticate = authenticateAny([], service.db);
  let statements = 0;
  service.db.on('query', () => statements++);

  const callers = await Promise.all(Array.from({ length: 50 }, () => authenticate(key)));

  expect(callers.every((caller) => caller?.keyName === 'at once')).toBe(true);
  expect(statements).toBe(1);
});

it('start-up detects whether a key is in use', async () => {
  const { db } = await startTestService();
  expect(await hasKeyInUse(db)).toBe(false);
  await insertKey(db, { key_name: 'one', key_digest: digestOf('one'), partner_name: null });
  expect(await hasKeyInUse(db)).toBe(true);
  await revokeKey(db, 'one');
  expect(await hasKeyInUse(db)).toBe(false);
});

describe('while the database is down', () => {
  it('a malformed key gets 401, a key of the database 503, and a key of the settings works', async () => {
    const { api } = await startAppAt({ host: '127.0.0.1', port: await closedPort(), user: 'catalog' });

    expect((await api.withKey('guess').get('/products')).status).toBe(401);
    expect((await api.withKey(undefined).get('/products')).status).toBe(401);
    expect(await api.withKey(generateKey()).get('/feeds/profile')).toMatchObject({
      status: 503,
      body: { detail: 'Service temporarily unavailable' },
    });
    expect((await api.withKey(testKey).get('/feeds/profile')).status).toBe(200);
  });
});
