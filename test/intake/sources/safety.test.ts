import { pino } from 'pino';
import { Writable } from 'node:stream';
import { SecretBox, generateSecretsKey } from '../../../src/base/secret-box';
import {
  csv,
  fetchNow,
  putSource,
  sourcePath,
  startFeedServer,
  type FeedServer,
} from '../../support/source-requests';
import { startNameServer } from '../../support/network';
import { startTestService, testSecretBox, type TestService } from '../../support/service';
import { eventually } from '../../support/harness';
import { sendTo, startReceiver } from '../../support/webhooks';

const partner = 'Acme Outdoor';
const secrets = {
  headers: { 'X-Feed-Token': 'tok-3a7bd3e2360a' },
  basic_auth: { username: 'acme', password: 'pw-4c1f' },
};

let logged = '';
const log = pino(
  { level: 'trace' },
  new Writable({ write: (chunk, _encoding, done) => ((logged += String(chunk)), done()) }),
);

let service: TestService;
let feeds: FeedServer;
let other: FeedServer;
beforeAll(async () => {
  service = await startTestService({
    sources: { privateAddresses: true, spread: 0 },
    webhooks: 'to any address',
    log,
  });
  feeds = await startFeedServer((_request, response) => void response.end(csv));
  other = await startFeedServer((_request, response) => void response.end(csv));
});
beforeEach(() => {
  feeds.requests = [];
  other.requests = [];
  feeds.respond = (_request, response) => void response.end(csv);
});

const redirectTo =
  (location: string, status = 302): FeedServer['respond'] =>
  (_request, response) =>
    void response.writeHead(status, { location }).end();

async function store(definition: object = {}, of: TestService = service): Promise<string> {
  const { status, body } = await putSource(of.api, partner, 'daily', {
    url: `${feeds.url}/a.csv`,
    run_after_fetch: false,
    ...definition,
  });
  expect([status, body.detail]).toEqual([200, undefined]);
  return 'daily';
}
const fetchOnce = (of: TestService = service) => fetchNow(of.api, partner, 'daily');

describe('secrets', () => {
  it('are sent to the server, and appear nowhere else', async () => {
    const receiver = await startReceiver();
    await sendTo(service.db, receiver.url);
    await store(secrets);

    const fetch = await fetchOnce();
    feeds.respond = (_request, response) => void response.writeHead(500).end('pw-4c1f');
    for (let attempt = 1; attempt <= 5; attempt++) {
      await service.api.post(`${sourcePath(partner, 'daily')}/fetch`);
      await eventually('the attempt has failed', async () => {
        return (await service.api.get(sourcePath(partner, 'daily'))).body.failures_in_a_row >= attempt;
      });
    }
    await eventually('source.failed is sent', () =>
      receiver.received.some(({ event }) => event.type === 'source.failed'),
    );

    expect(fetch.status).toBe('completed');
    expect(feeds.requests[0]!.headers).toMatchObject({
      'x-feed-token': 'tok-3a7bd3e2360a',
      authorization: `Basic ${Buffer.from('acme:pw-4c1f').toString('base64')}`,
    });
    const shown = (await service.api.get(sourcePath(partner, 'daily'))).body;
    expect(shown.definition).toMatchObject({
      headers: { 'x-feed-token': '********' },
      basic_auth: { username: 'acme', password: '********' },
    });
    const event = receiver.received.find(({ event: { type } }) => type === 'source.failed')!.event;
    expect(event.data).toMatchObject({ source_name: 'daily', state: 'failing', failures_in_a_row: 5 });
    const list = (await service.api.get('/sources')).body;
    const { rows } = await service.db.raw('select cast(sources as text) as row from sources');
    const history = (await service.api.get(`${sourcePath(partner, 'daily')}/fetches`)).body;
    const all = JSON.stringify([
      shown,
      list,
      rows,
      history,
      receiver.received.map(({ text }) => text),
      logged,
    ]);
    for (const secret of ['tok-3a7bd3e2360a', 'pw-4c1f', Buffer.from('acme:pw-4c1f').toString('base64')]) {
      expect(all).not.toContain(secret);
      expect(all).not.toContain(Buffer.from(secret).toString('hex'));
    }
  });

  it('are not part of an error or a log', async () => {
    logged = '';
    const bodies = [
      { url: 'x', ...secrets },
      { ...secrets, url: undefined },
      { url: `${feeds.url}/`, basic_auth: 'pw-4c1f', headers: { 'x-a': ['tok-3a7bd3e2360a'] } },
      { url: `${feeds.url}/`, basic_auth: { password: 'pw-4c1f' } },
      {
        url: `${feeds.url}/`,
        headers: { 'bad name': 'tok-3a7bd3e2360a', host: 'pw-4c1f', 'x-b': 'tok-3a7bd3e2360a\n' },
      },
      { url: `${feeds.url}/`, other: secrets },
    ];
    for (const body of bodies) {
      const { status, text } = await service.api.put(sourcePath(partner, 'wrong'), body).then((response) => ({
        status: response.status,
        text: JSON.stringify(response.body),
      }));
      expect([status, /pw-4c1f|tok-3a7/.test(text)]).toEqual([422, false]);
    }
    const broken = {
      headers: { 'content-type': 'application/json' },
      body: '{"basic_auth":{"password":pw-4c1f}}',
    };
    expect((await service.api.send('PUT', sourcePath(partner, 'wrong'), broken)).status).toBe(400);
    expect(logged).not.toMatch(/pw-4c1f|tok-3a7/);
  });

  it('are kept when they are sent masked, and are dropped when the origin changes', async () => {
    await store(secrets);
    const masked = {
      headers: { 'x-feed-token': '********' },
      basic_auth: { username: 'acme', password: '********' },
    };

    await store({ ...masked, url: `${feeds.url}/b.csv` });
    await fetchOnce();
    await store({ ...masked, url: `${other.url}/b.csv` });
    await fetchOnce();

    expect(feeds.requests[0]!.headers).toMatchObject({ 'x-feed-token': 'tok-3a7bd3e2360a' });
    expect(other.requests[0]!.headers).not.toHaveProperty('x-feed-token');
    expect(other.requests[0]!.headers).not.toHaveProperty('authorization');
    const { body } = await service.api.get(sourcePath(partner, 'daily'));
    expect(body.definition).toMatchObject({ headers: {}, basic_auth: null });
  });

  it('are not sent to another origin after a redirect, but to the same one', async () => {
    await store(secrets);
    feeds.respond = (request, response) =>
      request.url === '/a.csv'
        ? redirectTo('/b.csv')(request, response)
        : redirectTo(`${other.url}/c.csv`)(request, response);

    const fetch = await fetchOnce();

    expect(fetch.status).toBe('completed');
    expect(feeds.requests.map(({ headers }) => headers['x-feed-token'])).toEqual([
      'tok-3a7bd3e2360a',
      'tok-3a7bd3e2360a',
    ]);
    expect(other.requests[0]!.headers).not.toHaveProperty('x-feed-token');
    expect(other.requests[0]!.headers).not.toHaveProperty('authorization');
  });

  it('need an encryption key, which a newer one in front of it can replace', async () => {
    const without = await startTestService({ secretBox: null });
    const refused = await putSource(without.api, partner, 'daily', { url: 'https://a.example/', ...secrets });
    expect([refused.status, refused.body.detail[0].msg]).toEqual([
      422,
      expect.stringContaining('SECRETS_KEY'),
    ]);
    expect((await putSource(without.api, partner, 'daily', { url: 'https://a.example/' })).status).toBe(200);

    await store(secrets);
    const [newer] = [generateSecretsKey()];
    const { rows } = await service.db.raw('select secrets from sources where secrets is not null');
    const origin = new URL(feeds.url).origin;
    expect(testSecretBox.open(rows[0].secrets, origin)).toContain('pw-4c1f');
    expect(new SecretBox(newer).open(rows[0].secrets, origin)).toBeUndefined();
    await service.db('sources').update({ secrets: new SecretBox(newer).seal('{}', origin) });
    expect(await fetchOnce()).toMatchObject({
      status: 'failed',
      failure_reason: 'secrets_unreadable: The stored secrets cannot be decrypted: send them again.',
    });
  });
});

describe('a redirect', () => {
  it.each([301, 302, 303, 307, 308])('with %d is followed', async (status) => {
    await store();
    feeds.respond = redirectTo(`${other.url}/c.csv`, status);

    expect((await fetchOnce()).status).toBe('completed');
  });

  it('is followed five times', async () => {
    await store({ url: `${feeds.url}/5` });
    feeds.respond = (request, response) => {
      const left = Number(request.url!.slice(1));
      if (left === 0) response.end(csv);
      else redirectTo(`/${left - 1}`)(request, response);
    };
    expect((await fetchOnce()).status).toBe('completed');

    await store({ url: `${feeds.url}/6` });
    expect(await fetchOnce()).toMatchObject({
      status: 'failed',
      failure_reason: 'too_many_redirects: There are more than 5 redirects. Use the final URL.',
    });
  });

  it.each(['ftp://a.example/', 'http://', 'file:///etc/passwd'])('to %s fails', async (location) => {
    await store();
    feeds.respond = redirectTo(location);

    expect((await fetchOnce()).failure_reason).toMatch(/^wrong_redirect: /);
  });
});

describe('a private address', () => {
  it('is not fetched from, for any form of its name', async () => {
    const closed = await startTestService({ sources: { privateAddresses: false, spread: 0 } });
    await startNameServer({ 'private.test': ['127.0.0.1'], 'both.test': ['93.184.215.14', '10.0.0.1'] });
    const { port } = new URL(feeds.url);
    for (const host of ['127.0.0.1', '[::1]', '2130706433', 'private.test', 'both.test']) {
      await store({ url: `http://${host}:${port}/a.csv` }, closed);

      expect(await fetchOnce(closed)).toMatchObject({
        status: 'failed',
        failure_reason:
          'private_address: The host, or one that it redirects to, has an address that is not public. Use a public URL, or ask the operator to allow private addresses.',
      });
    }
    expect(feeds.requests).toEqual([]);
  });
});
