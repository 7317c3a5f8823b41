import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase, type Database, type DatabaseAddress } from '../../../src/base/db/database';
import { runAdmin } from '../../support/commands';
import { afterFile, eventually, createTestFolder } from '../../support/harness';
import { createEmptyDatabase, databaseUrl } from '../../support/databases';
import { localhostCertificate } from '../../support/network';
import { spawnService, startService, type ServiceProcess } from '../../support/process';
import { testKey } from '../../support/service';
import { startReceiver, type Receiver } from '../../support/webhooks';

const csv = 'sku,product_name\nA,A\n';
const dataDir = createTestFolder();

let address: DatabaseAddress;
let db: Database;
beforeAll(async () => {
  address = await createEmptyDatabase();
  db = openDatabase(address, { applicationName: 'test', connectionsMax: 2 });
  afterFile(() => db.destroy());
});

const anyAddress = { PRIVATE_ADDRESSES: 'on' };
const settings = () => ({ DATABASE_URL: databaseUrl(address), DATA_DIR: dataDir });

const webhooks = (env: Record<string, string>, ...args: string[]) => runAdmin(env, 'webhooks', ...args);

const startApi = (env: Record<string, string> = anyAddress) =>
  startService({ env: { ...settings(), API_KEYS: testKey, ...env } });

async function startWorker(): Promise<ServiceProcess> {
  const worker = spawnService({ role: 'worker', env: { ...settings(), ...anyAddress } });
  await eventually('the worker works', () => worker.stdout.includes('working on queued runs'));
  return worker;
}

/** Creates a webhook for the receiver by the command. @returns its number */
async function create(receiver: Receiver, ...options: string[]): Promise<string> {
  const { code, stdout, stderr } = await webhooks(
    { ...settings(), ...anyAddress },
    'create',
    receiver.url,
    ...options,
  );
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('cannot be shown again') });
  receiver.secret = stdout.trim();
  return /webhook (\d+)/.exec(stderr)![1]!;
}

const list = async () => (await webhooks(settings(), 'list')).stdout;
const lineOf = async (id: string) => (await list()).split('\n').find((line) => line.startsWith(`${id} `));

describe('the command that manages webhooks', () => {
  it('creates a webhook over TLS, prints its secret once, and lists everything except the secret', async () => {
    const ca = join(createTestFolder(), 'ca.pem');
    writeFileSync(ca, localhostCertificate.cert);
    const receiver = await startReceiver({ tls: localhostCertificate });
    const service = await startApi({ ...anyAddress, NODE_EXTRA_CA_CERTS: ca });

    const id = await create(
      receiver,
      '--partner',
      ' Acme Outdoor ',
      '--events',
      'order.created, feed.uploaded',
    );
    const { feedId } = await service.api.uploadFeed(csv, 'Acme Outdoor');
    await service.api.uploadFeed(csv, 'Birch');

    await eventually('the event arrives', () => receiver.received.length === 1);
    expect(receiver.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(receiver.received[0]!.event).toMatchObject({ type: 'feed.uploaded', data: { feed_id: feedId } });
    const lines = (await list()).split('\n');
    expect(lines[0]).toMatch(/^ID +URL +PARTNER +NAME +EVENTS +CREATED +STATE +DISCARDED +LAST FAILURE$/);
    expect(lines[1]!.split(/ {2,}/)).toEqual([
      id,
      receiver.url,
      'Acme Outdoor',
      '(none)',
      'feed.uploaded,order.created',
      expect.stringMatching(/^\d{4}-.*Z$/),
      'in use',
      '0',
      '(none)',
    ]);
    expect(lines.join()).not.toContain('whsec_');
    await webhooks(settings(), 'remove', id);
    await service.stop();
  });

  it('lists the last failure, for example a self-signed certificate', async () => {
    const receiver = await startReceiver({ tls: localhostCertificate });
    const service = await startApi();
    const id = await create(receiver);

    await service.api.uploadFeed(csv, 'Acme Outdoor');

    await eventually(
      'it shows',
      async () => /failing, \d+ in a row +0 +\d\S+Z self-signed certificate$/.test((await lineOf(id))!),
      30,
    );
    expect(receiver.received).toEqual([]);
    await webhooks(settings(), 'remove', id);
    await service.stop();
  });

  it('disables, enables and removes', async () => {
    const receiver = await startReceiver();
    const id = await create(receiver);
    const change = async (command: string) => (await webhooks(settings(), command, id)).stderr;

    expect(await lineOf(id)).toMatch(/\(all\) +\(none\) +\(all\) .* in use +0 +\(none\)$/);
    expect(await change('disable')).toBe(`Webhook ${id} is disabled, and gets no more events.\n`);
    expect(await lineOf(id)).toMatch(/ disabled \d\S+Z +0/);
    expect(await change('enable')).toBe(`Webhook ${id} is enabled, and gets events from now on.\n`);
    expect(await lineOf(id)).toMatch(/ in use +0/);
    expect(await change('remove')).toBe(`Webhook ${id} is removed.\n`);
    expect(await lineOf(id)).toBeUndefined();
    expect(await webhooks(settings(), 'remove', id)).toEqual({
      code: 1,
      stdout: '',
      stderr: `There is no webhook ${id}.\n`,
    });
  });
});

describe('a delivery in progress whose worker', () => {
  it.each<[string, NodeJS.Signals]>([
    ['is killed', 'SIGKILL'],
    ['shuts down', 'SIGTERM'],
  ])('%s is repeated by another worker with the same id', async (_what, signal) => {
    const service = await startApi({ QUEUE_WORKER: 'off' });
    const receiver = await startReceiver();
    receiver.answer = () => 'nothing';
    const id = await create(receiver);
    const worker = await startWorker();
    await service.api.uploadFeed(csv, 'Acme Outdoor');
    await eventually('it is being sent', () => receiver.received.length === 1);

    const { code } = await worker.stop(signal);
    expect(code).toBe(signal === 'SIGKILL' ? null : 0);
    receiver.answer = () => ({ status: 200 });
    // Its lease has expired.
    await db.raw('update webhook_deliveries set next_attempt_at = now()');
    const other = await startWorker();

    await eventually('it is sent again', () => receiver.received.length === 2, 60);
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(new Set(receiver.received.map(({ text }) => text)).size).toBe(1);
    expect(await lineOf(id)).toMatch(/ in use +0 +\(none\)$/);
    await webhooks(settings(), 'remove', id);
    await Promise.all([other.stop(), service.stop()]);
  });
});
