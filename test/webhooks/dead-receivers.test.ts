import { limits } from '../../src/limits';
import type { EndpointRow } from '../../src/webhooks/endpoints.repository';
import { runAdmin } from '../support/admin-command';
import { databaseUrl } from '../support/empty-database';
import { eventually } from '../support/eventually';
import { startTestService, type TestService } from '../support/service';
import { sendTo, startReceiver } from '../support/webhook-receiver';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ webhooks: 'to any address' });
});
afterEach(async () => {
  jest.restoreAllMocks();
  await service.db('webhook_endpoints').delete();
  await service.db('graphile_worker._private_jobs').delete();
});

const upload = () => service.api.uploadFeed('sku,product_name\nA,A\n', 'Acme');
const endpoint = async (id: number) =>
  (await service.db<EndpointRow>('webhook_endpoints').where('webhook_endpoint_id', id).first())!;
const change = (id: number, what: object) =>
  service.db('webhook_endpoints').where('webhook_endpoint_id', id).update(what);
const ago = (interval: string) => service.db.raw(`now() - cast(? as interval)`, [interval]);

/** Puts that many events for the endpoint into the queue, which happened so many hours ago, and are due. */
const queue = (id: number, events: number, hoursAgo = 0) =>
  service.db.raw(
    `select queue_deliveries(array_agg(json_build_object(
       'endpoint_id', cast(:id as integer), 'message_id', 'old_' || :hoursAgo || '_' || number, 'type', 'order.created',
       'timestamp', now() - :hoursAgo * interval '1 hour', 'content', json_build_object('order_id', 1), 'failed_attempts', 0
     )), 0, :lanes)
     from generate_series(1, :events) as number`,
    { id, events, hoursAgo, lanes: limits.deliveriesPerEndpoint },
  );

const waiting = async (id: number) => {
  const { rows } = await service.db.raw<{ rows: { id: number; in_seconds: number }[] }>(
    `select id, cast(extract(epoch from run_at - now()) as double precision) as in_seconds
     from graphile_worker._private_jobs where payload ->> 'endpoint_id' = ?`,
    [String(id)],
  );
  return rows;
};

describe('an endpoint that is paused', () => {
  const pauseFor = (id: number, interval: string) =>
    change(id, {
      failures_in_a_row: 9,
      paused_until: service.db.raw('now() + cast(? as interval)', [interval]),
    });

  it('has what is due put off together: most of it is never taken from the queue', async () => {
    const receiver = await startReceiver();
    const id = await sendTo(service.db, receiver.url);
    await pauseFor(id, '1 hour');
    await queue(id, 200);
    const before = (await waiting(id)).map((one) => one.id);

    await eventually(
      'all of it waits for the end',
      async () => (await waiting(id)).every(({ in_seconds }) => in_seconds > 3000),
      30,
    );
    const after = new Set((await waiting(id)).map((one) => one.id));
    expect(after.size).toBe(200);
    // What was taken and put off by itself has another number. Each place has taken one, or a few before the first was done.
    expect(before.filter((one) => after.has(one)).length).toBeGreaterThan(150);
    expect(receiver.received).toEqual([]);
  });

  it('has what is too old given up with it, and what is due elsewhere sent', async () => {
    const dead = await startReceiver();
    const alive = await startReceiver();
    const id = await sendTo(service.db, dead.url);
    await pauseFor(id, '1 hour');
    await sendTo(service.db, alive.url);

    await queue(id, 20, 37);
    await queue(id, 20, 35);
    await upload();

    await eventually('the old ones are given up', async () => (await endpoint(id)).given_up === 20, 30);
    await eventually('the other endpoint is told', () => alive.received.length === 1, 30);
    await eventually(
      'the others wait',
      async () => (await waiting(id)).every(({ in_seconds }) => in_seconds > 3000),
      30,
    );
    expect(await waiting(id)).toHaveLength(21);
    expect(await endpoint(id)).toMatchObject({ given_up: 20, disabled_at: null });
  });
});

describe('an endpoint that has accepted nothing for days', () => {
  const failingSince = (id: number, interval: string) =>
    change(id, { failures_in_a_row: 1, failing_since: ago(interval) });
  /** The next failure is the last one. */
  const giveUpAtOnce = () => jest.replaceProperty(limits, 'webhookRetrySeconds', [] as never);
  const webhooks = (...args: string[]) =>
    runAdmin({ DATABASE_URL: databaseUrl(service.address) }, 'webhooks', ...args);

  it('is disabled when another event is given up, which shows; enabled again, it begins anew', async () => {
    giveUpAtOnce();
    const receiver = await startReceiver();
    receiver.answer = () => ({ status: 500 });
    const id = await sendTo(service.db, receiver.url);
    await failingSince(id, '5 days 1 minute');

    await upload();

    const row = await eventually('it is disabled', async () => {
      const found = await endpoint(id);
      return found.disabled_at !== null && found;
    });
    expect(row).toMatchObject({ disabled_reason: 'nothing accepted for 5 days', given_up: 1 });
    expect((await webhooks('list')).stdout).toMatch(
      / disabled \d\S+Z: nothing accepted for 5 days +1 +\d\S+Z HTTP 500\n/,
    );
    await webhooks('enable', String(id));
    expect(await endpoint(id)).toMatchObject({
      disabled_at: null,
      disabled_reason: null,
      failing_since: null,
    });
  });

  it('is not while events are still sent again, or when it was not that long', async () => {
    const receiver = await startReceiver();
    receiver.answer = () => ({ status: 500 });
    const id = await sendTo(service.db, receiver.url);
    await failingSince(id, '5 days 1 minute');
    jest.replaceProperty(limits, 'webhookRetrySeconds', [3600] as never);
    await upload();
    await eventually('it has failed', async () => (await endpoint(id)).failures_in_a_row === 2, 30);

    giveUpAtOnce();
    await failingSince(id, '4 days 23 hours');
    await upload();

    await eventually('one is given up', async () => (await endpoint(id)).given_up === 1, 30);
    await eventually('it is done', async () => (await waiting(id)).length === 1, 30);
    expect((await endpoint(id)).disabled_at).toBeNull();
  });

  it('is forgiven all of it by one that is accepted', async () => {
    const receiver = await startReceiver();
    const id = await sendTo(service.db, receiver.url);
    await failingSince(id, '10 days');

    await upload();

    await eventually('it is noted', async () => (await endpoint(id)).failures_in_a_row === 0, 30);
    expect((await endpoint(id)).failing_since).toBeNull();
  });
});
