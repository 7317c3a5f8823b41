import { webhookLimits } from '../../src/webhooks/send';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { webhookRetries } from '../../src/webhooks/deliver';
import { discardDeliveries } from '../../src/webhooks/housekeeping';
import { type EndpointRow, webhookPause } from '../../src/webhooks/endpoints.repository';
import { createLog } from '../../src/base/log';
import { afterFile, eventually } from '../support/harness';
import { startNameServer } from '../support/network';
import { startTestService, type TestService } from '../support/service';
import { sendTo, startReceiver, type Receiver } from '../support/webhooks';
import { deliveriesPerEndpoint } from '../../src/webhooks/deliveries.repository';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ webhooks: 'to any address' });
});
afterEach(async () => {
  await service.db('webhook_endpoints').delete();
});

const csv = 'sku,product_name\nA,A\n';
const upload = () => service.api.uploadFeed(csv, 'Acme');

const endpoint = async (id: number) =>
  (await service.db<EndpointRow>('webhook_endpoints').where('webhook_endpoint_id', id).first())!;

async function pendingOf(
  id: number,
): Promise<{ in_seconds: number; attempts: number; is_being_sent: boolean }[]> {
  const { rows } = await service.db.raw<{ rows: Awaited<ReturnType<typeof pendingOf>> }>(
    `select cast(extract(epoch from next_attempt_at - now()) as double precision) as in_seconds, attempts, is_being_sent
     from webhook_deliveries where webhook_endpoint_id = ? order by next_attempt_at`,
    [id],
  );
  return rows;
}

const makeDue = () => service.db.raw('update webhook_deliveries set next_attempt_at = now()');

const failed = (id: number) =>
  eventually('it has failed', async () => {
    const row = await endpoint(id);
    return row.failed_at !== null && !(await pendingOf(id)).some(({ is_being_sent }) => is_being_sent) && row;
  });

/** Waits for another claim of due deliveries: the claim of a healthy endpoint. */
async function waitForClaim(): Promise<void> {
  const receiver = await startReceiver();
  const id = await sendTo(service.db, receiver.url);
  await upload();
  await eventually('the healthy endpoint gets its event', () => receiver.received.length === 1);
  await service.db('webhook_endpoints').where('webhook_endpoint_id', id).delete();
}

/** Sets the backoff of that many retries to zero. */
const retryAtOnce = (times: number) =>
  jest.replaceProperty(webhookRetries, 'backoffSeconds', Array<number>(times).fill(0));

/** Sets a backoff longer than any test. */
const retryLater = () =>
  jest.replaceProperty(webhookRetries, 'backoffSeconds', Array<number>(8).fill(laterSeconds));
const laterSeconds = 3600;

const neverPause = () => jest.replaceProperty(webhookPause, 'pauseAfterFailures', 1e6);

describe('a delivery', () => {
  it('is verified by the library of Standard Webhooks, with the current time', async () => {
    const receiver = await startReceiver();
    const id = await sendTo(service.db, receiver.url);

    await upload();

    await eventually('the event arrives', () => receiver.received.length === 1);
    const [{ headers, path }] = receiver.received as [Receiver['received'][0]];
    expect(path).toBe('/events?from=catalog');
    expect(headers['content-type']).toBe('application/json');
    expect(headers['webhook-id']).toMatch(/^msg_[0-9a-f]{32}$/);
    expect(Math.abs(Date.now() / 1000 - Number(headers['webhook-timestamp']))).toBeLessThan(60);
    await eventually('nothing is pending', async () => (await pendingOf(id)).length === 0);
    expect(await endpoint(id)).toMatchObject({ failures_in_a_row: 0, failed_at: null });
  });

  it('is retried with the same id and body after a failure', async () => {
    retryAtOnce(5);
    neverPause();
    const receiver = await startReceiver();
    receiver.answer = (count) => ({ status: count < 4 ? 500 : 200 });
    const id = await sendTo(service.db, receiver.url);

    await upload();

    await eventually('it is accepted', async () => (await pendingOf(id)).length === 0, 30);
    const { received } = receiver;
    expect(received).toHaveLength(4);
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(new Set(received.map(({ text }) => text)).size).toBe(1);
    expect(await endpoint(id)).toMatchObject({
      failures_in_a_row: 0,
      failure_reason: 'HTTP 500',
      given_up: 0,
      disabled_at: null,
    });
  });

  it.each([400, 401, 404, 429, 500, 503])(
    'is rescheduled with backoff after a response of %i',
    async (status) => {
      retryLater();
      const receiver = await startReceiver();
      receiver.answer = () => ({ status });
      const id = await sendTo(service.db, receiver.url);

      await upload();

      expect(await failed(id)).toMatchObject({ failure_reason: `HTTP ${status}`, failures_in_a_row: 1 });
      const [delivery] = await pendingOf(id);
      expect(delivery!.attempts).toBe(1);
      expect(delivery!.in_seconds).toBeGreaterThan(0.9 * laterSeconds);
      expect(delivery!.in_seconds).toBeLessThanOrEqual(1.2 * laterSeconds);
    },
  );

  it('is retried with growing backoff for more than a day', () => {
    const seconds = webhookRetries.backoffSeconds;

    expect([...seconds].sort((a, b) => a - b)).toEqual(seconds);
    const hours = seconds.reduce((sum, one) => sum + one, 0) / 3600;
    expect([Math.floor(hours), Math.ceil(1.2 * hours)]).toEqual([27, 34]);
  });

  it('is discarded after the last attempt, and counted at the endpoint', async () => {
    retryAtOnce(2);
    neverPause();
    const receiver = await startReceiver();
    receiver.answer = () => ({ status: 500 });
    const id = await sendTo(service.db, receiver.url);

    await upload();

    await eventually('it is discarded', async () => (await endpoint(id)).given_up === 1, 30);
    expect(receiver.received).toHaveLength(3);
    await eventually('nothing is pending', async () => (await pendingOf(id)).length === 0);
  });

  it('disables the endpoint after a response of 410, and discards its pending deliveries', async () => {
    retryLater();
    const receiver = await startReceiver();
    receiver.answer = () => ({ status: 500 });
    const id = await sendTo(service.db, receiver.url);
    await upload();
    await failed(id);
    receiver.answer = () => ({ status: 410 });

    await upload();
    await eventually('it is disabled', async () => (await endpoint(id)).disabled_at !== null, 30);
    expect((await endpoint(id)).disabled_reason).toBe('it responded with 410');
    await makeDue();

    await eventually('nothing is pending', async () => (await pendingOf(id)).length === 0, 30);
    expect(receiver.received).toHaveLength(2);
    await upload();
    expect(await pendingOf(id)).toEqual([]);
  });

  it('does not follow a redirect', async () => {
    retryLater();
    const target = await startReceiver();
    const receiver = await startReceiver();
    receiver.answer = () => ({ status: 307, headers: { location: target.url } });
    const id = await sendTo(service.db, receiver.url);

    await upload();

    expect(await failed(id)).toMatchObject({ failure_reason: 'HTTP 307' });
    expect([receiver.received.length, target.received.length]).toEqual([1, 0]);
  });

  it('fails without a response before the timeout', async () => {
    jest.replaceProperty(webhookLimits, 'requestMilliseconds', 300);
    const receiver = await startReceiver();
    receiver.answer = () => 'nothing';
    const id = await sendTo(service.db, receiver.url);

    await upload();

    expect((await failed(id)).failure_reason).toBe('no response within 0.3 s');
  });

  it('fails when the connection is refused', async () => {
    const receiver = await startReceiver();
    const id = await sendTo(service.db, receiver.url.replace(/:\d+/, ':1'));

    await upload();

    expect((await failed(id)).failure_reason).toMatch(/ECONNREFUSED/);
  });

  it('succeeds with the status of an endless response, whose body is discarded', async () => {
    let cut = false;
    const server = createServer((request, response) => {
      request.resume();
      response.on('close', () => (cut = true));
      response.writeHead(200);
      const writeMore = () => {
        while (!response.destroyed && response.write(Buffer.alloc(64 * 1024)));
      };
      response.on('drain', writeMore);
      writeMore();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    afterFile(() => void server.close());
    const id = await sendTo(service.db, `http://127.0.0.1:${(server.address() as AddressInfo).port}/`);

    await upload();

    await eventually(
      'it is delivered, and the body is cut',
      async () => cut && (await pendingOf(id)).length === 0,
    );
    expect((await endpoint(id)).failed_at).toBeNull();
  });

  it('is deleted when its endpoint is removed', async () => {
    retryLater();
    const receiver = await startReceiver();
    receiver.answer = () => ({ status: 500 });
    const id = await sendTo(service.db, receiver.url);
    await upload();
    await failed(id);

    await service.db('webhook_endpoints').delete();
    await makeDue();

    await eventually('nothing is pending', async () => (await pendingOf(id)).length === 0, 30);
    expect(receiver.received).toHaveLength(1);
  });
});

describe('a failing endpoint', () => {
  it('is paused, for longer each time, and then gets one event', async () => {
    retryAtOnce(1000);
    const receiver = await startReceiver();
    receiver.answer = () => ({ status: 500 });
    const id = await sendTo(service.db, receiver.url);

    await upload();

    const { pauseAfterFailures, pauseSeconds } = webhookPause;
    await eventually('it is paused', async () => (await endpoint(id)).paused_until !== null, 30);
    const pauseOf = async () =>
      ((await endpoint(id)).paused_until!.getTime() - (await endpoint(id)).failed_at!.getTime()) / 1000;
    expect(await pauseOf()).toBeCloseTo(pauseSeconds, 1);
    await upload();
    await waitForClaim();
    expect(await pendingOf(id)).toHaveLength(3);
    expect(receiver.received).toHaveLength(pauseAfterFailures);

    const endPause = async () => {
      await service.db('webhook_endpoints').update({ paused_until: service.db.raw('now()') });
      await makeDue();
    };
    await endPause();
    await eventually('it is paused again', async () => (await pauseOf()) > 1.5 * pauseSeconds, 30);
    expect(receiver.received).toHaveLength(pauseAfterFailures + 1);
    receiver.answer = () => ({ status: 200 });
    await endPause();
    await eventually('all events are delivered', async () => (await pendingOf(id)).length === 0, 30);
    expect(await endpoint(id)).toMatchObject({ failures_in_a_row: 0, paused_until: null });
  });

  it('discards events that have been due for 36 hours while it is paused, and keeps replayed ones', async () => {
    retryLater();
    const receiver = await startReceiver();
    receiver.answer = () => ({ status: 500 });
    const id = await sendTo(service.db, receiver.url);
    await upload();
    await failed(id);
    await service
      .db('webhook_endpoints')
      .update({ paused_until: service.db.raw("now() + interval '1 hour'") });

    const log = createLog('fatal');
    // As a replay leaves it.
    await service.db.raw(
      "update webhook_deliveries set next_attempt_at = now(), happened_at = now() - interval '37 hours'",
    );
    await discardDeliveries({ db: service.db, log });
    expect((await endpoint(id)).given_up).toBe(0);

    await service.db.raw("update webhook_deliveries set next_attempt_at = now() - interval '37 hours'");
    await discardDeliveries({ db: service.db, log });

    await eventually('it is discarded', async () => (await endpoint(id)).given_up === 1, 30);
    expect(receiver.received).toHaveLength(1);
  });

  it('that is slow does not delay events of other endpoints', async () => {
    jest.replaceProperty(webhookLimits, 'requestMilliseconds', 60_000);
    const dead = await startReceiver();
    dead.answer = () => 'nothing';
    const alive = await startReceiver();
    await sendTo(service.db, dead.url);
    const id = await sendTo(service.db, alive.url);

    const uploads = 20;
    await Promise.all(Array.from({ length: uploads }, upload));

    // Earlier than the end of an attempt at the dead endpoint.
    await eventually('all events arrive', () => alive.received.length === uploads, 50);
    expect(dead.received.length).toBeLessThanOrEqual(deliveriesPerEndpoint);
    await eventually('nothing is pending', async () => (await pendingOf(id)).length === 0);
  });
});

describe('many slow endpoints', () => {
  /** Enqueues 40 events for each of 40 endpoints. */
  async function enqueueFor(url: string): Promise<void> {
    const ids: number[] = [];
    for (let at = 0; at < 40; at++) ids.push(await sendTo(service.db, url, { event_types: ['job.failed'] }));
    await service.db.raw(
      `insert into webhook_deliveries (webhook_endpoint_id, message_id, event_type, happened_at, content)
       select endpoint_id, 'msg_' || endpoint_id || '_' || number, 'webhook.ping', now(), '{}'
       from unnest(cast(:ids as bigint[])) as endpoint_id, generate_series(1, 40) as number`,
      { ids },
    );
  }
  afterEach(() => service.db('webhook_deliveries').delete());

  it('that respond late do not delay the event of another by their backlog', async () => {
    let accepted = 0;
    const late = createServer((request, response) => {
      request.resume();
      setTimeout(() => {
        accepted++;
        response.writeHead(204).end();
      }, 1_500);
    });
    await new Promise<void>((resolve) => late.listen(0, '127.0.0.1', resolve));
    afterFile(() => void late.close());
    await enqueueFor(`http://127.0.0.1:${(late.address() as AddressInfo).port}/`);
    await eventually('they are busy', () => accepted > 30, 30);
    const alive = await startReceiver();
    await sendTo(service.db, alive.url);

    for (let at = 1; at <= 3; at++) {
      await upload();
      await eventually('the healthy endpoint gets its event', () => alive.received.length === at, 30);
    }

    expect(accepted).toBeLessThan(800);
  });

  it('that never respond do not delay the event of another until their timeouts', async () => {
    jest.replaceProperty(webhookLimits, 'requestMilliseconds', 60_000);
    const dead = await startReceiver();
    dead.answer = () => 'nothing';
    await enqueueFor(dead.url);
    await eventually('they are busy', () => dead.received.length >= 12, 30);
    const alive = await startReceiver();
    await sendTo(service.db, alive.url);

    await upload();

    await eventually('the healthy endpoint gets its event', () => alive.received.length === 1, 30);
  });
});

describe('an event that cannot be serialized', () => {
  it('is retried with backoff, and delays no other event of its endpoint', async () => {
    retryLater();
    const receiver = await startReceiver();
    const id = await sendTo(service.db, receiver.url);
    await service.db.raw(
      `insert into webhook_deliveries (webhook_endpoint_id, message_id, event_type, happened_at, content)
       select ?, 'msg_' || number, 'job.failed', now(), '{}' from generate_series(1, 20) as number`,
      [id],
    );

    await upload();

    await eventually('the other event arrives', () => receiver.received.length === 1, 30);
    await eventually('all have failed', async () => {
      const pending = await pendingOf(id);
      return (
        pending.length === 20 &&
        pending.every(({ attempts, is_being_sent }) => attempts === 1 && !is_being_sent)
      );
    });
    expect(await endpoint(id)).toMatchObject({ failures_in_a_row: 0 });
    await service.db('webhook_deliveries').delete();
  });
});

describe('with PRIVATE_ADDRESSES=off', () => {
  let publicOnly: TestService;
  beforeAll(async () => {
    publicOnly = await startTestService({ webhooks: 'to public addresses' });
  });

  it.each([
    ['an address', '127.0.0.1', '127.0.0.1 is not a public address'],
    ['a name', 'here.test', '127.0.0.1 is not a public address'],
  ])('a private host, given as %s, gets no connection', async (_what, host, reason) => {
    await startNameServer({ 'here.test': ['127.0.0.1'] });
    let connections = 0;
    const server = createServer().on('connection', () => connections++);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    afterFile(() => void server.close());
    const url = `https://${host}:${(server.address() as AddressInfo).port}/`;
    const id = await sendTo(publicOnly.db, url);

    await publicOnly.api.uploadFeed(csv, 'Acme');

    const row = await eventually('it has failed', async () => {
      const found = await publicOnly.db('webhook_endpoints').where('webhook_endpoint_id', id).first();
      return found.failed_at !== null && found;
    });
    expect(row.failure_reason).toBe(reason);
    expect(connections).toBe(0);
    await publicOnly.db('webhook_endpoints').delete();
  });

  it('nothing is sent over HTTP without TLS', async () => {
    const receiver = await startReceiver();
    const id = await sendTo(publicOnly.db, receiver.url);

    await publicOnly.api.uploadFeed(csv, 'Acme');

    await eventually('it has failed', async () => {
      const found = await publicOnly.db('webhook_endpoints').where('webhook_endpoint_id', id).first();
      return found.failed_at !== null;
    });
    expect(receiver.received).toEqual([]);
  });
});
