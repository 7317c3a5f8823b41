import { webhookRetries } from '../../src/webhooks/deliver';
import { discardDeliveries } from '../../src/webhooks/housekeeping';
import { createLog } from '../../src/base/log';
import type { EndpointRow } from '../../src/webhooks/endpoints.repository';
import { runAdmin } from '../support/commands';
import { databaseUrl } from '../support/databases';
import { eventually } from '../support/harness';
import { startTestService, type TestService } from '../support/service';
import { sendTo, startReceiver } from '../support/webhooks';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ webhooks: 'to any address' });
});
afterEach(async () => {
  await service.db('webhook_endpoints').delete();
  await service.db('webhook_deliveries').delete();
});

const upload = () => service.api.uploadFeed('sku,product_name\nA,A\n', 'Acme');
const endpoint = async (id: number) =>
  (await service.db<EndpointRow>('webhook_endpoints').where('webhook_endpoint_id', id).first())!;
const change = (id: number, what: object) =>
  service.db('webhook_endpoints').where('webhook_endpoint_id', id).update(what);
const ago = (interval: string) => service.db.raw(`now() - cast(? as interval)`, [interval]);

/** Enqueues events of that age for one endpoint, due since then. */
const enqueue = (id: number, events: number, hoursAgo = 0) =>
  service.db.raw(
    `insert into webhook_deliveries (webhook_endpoint_id, message_id, event_type, happened_at, next_attempt_at, content)
     select :id, 'old_' || :hoursAgo || '_' || number, 'order.created', now() - :hoursAgo * interval '1 hour',
       now() - :hoursAgo * interval '1 hour',
       json_build_object('order_id', 1)
     from generate_series(1, :events) as number`,
    { id, events, hoursAgo },
  );

const pendingOf = (id: number) => service.db('webhook_deliveries').where('webhook_endpoint_id', id);
const discard = () => discardDeliveries({ db: service.db, log: createLog('fatal') });

describe('a paused endpoint', () => {
  const pauseFor = (id: number, interval: string) =>
    change(id, {
      failures_in_a_row: 9,
      paused_until: service.db.raw('now() + cast(? as interval)', [interval]),
    });

  it('has its old events discarded, and no delivery claimed, while other endpoints get theirs', async () => {
    const dead = await startReceiver();
    const alive = await startReceiver();
    const id = await sendTo(service.db, dead.url);
    await pauseFor(id, '1 hour');
    await sendTo(service.db, alive.url);
    await enqueue(id, 20, 37);
    await enqueue(id, 20, 35);
    await upload();

    await discard();

    await eventually('the other endpoint gets its event', () => alive.received.length === 1, 30);
    expect(await endpoint(id)).toMatchObject({ given_up: 20, disabled_at: null });
    expect((await pendingOf(id)).map(({ attempts }) => attempts as number)).toEqual(
      Array.from({ length: 21 }, () => 0),
    );
    expect(dead.received).toEqual([]);
  });

  it('gets one event after the pause, and the others after that one is accepted', async () => {
    const receiver = await startReceiver();
    receiver.answer = () => ({ status: 500 });
    const id = await sendTo(service.db, receiver.url);
    await pauseFor(id, '1 hour');
    for (let at = 0; at < 5; at++) await upload();

    await pauseFor(id, '0 seconds');
    await eventually('it is paused again', async () => (await endpoint(id)).failures_in_a_row === 10, 30);
    expect(receiver.received).toHaveLength(1);
    receiver.answer = () => ({ status: 200 });
    await service.db('webhook_deliveries').update({ next_attempt_at: service.db.raw('now()') });
    await pauseFor(id, '0 seconds');

    await eventually('all are delivered', async () => (await pendingOf(id)).length === 0, 30);
    expect(receiver.received).toHaveLength(6);
    expect(await endpoint(id)).toMatchObject({ failures_in_a_row: 0, paused_until: null });
  });
});

describe('an endpoint that has accepted no event for five days', () => {
  const failingSince = (id: number, interval: string) =>
    change(id, { failures_in_a_row: 1, failing_since: ago(interval) });
  const neverRetry = () => jest.replaceProperty(webhookRetries, 'backoffSeconds', []);
  const webhooks = (...args: string[]) =>
    runAdmin({ DATABASE_URL: databaseUrl(service.address) }, 'webhooks', ...args);

  it('is disabled when another event is discarded, and is reset by webhooks enable', async () => {
    neverRetry();
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

  it('stays enabled while events are retried, and before five days are over', async () => {
    const receiver = await startReceiver();
    receiver.answer = () => ({ status: 500 });
    const id = await sendTo(service.db, receiver.url);
    await failingSince(id, '5 days 1 minute');
    jest.replaceProperty(webhookRetries, 'backoffSeconds', [3600]);
    await upload();
    await eventually('it has failed', async () => (await endpoint(id)).failures_in_a_row === 2, 30);

    neverRetry();
    await failingSince(id, '4 days 23 hours');
    await upload();

    await eventually('one is discarded', async () => (await endpoint(id)).given_up === 1, 30);
    await eventually('one is pending', async () => (await pendingOf(id)).length === 1, 30);
    expect((await endpoint(id)).disabled_at).toBeNull();
  });

  it('stays enabled while its partner has paused it', async () => {
    const { url } = await startReceiver();
    const id = await sendTo(service.db, url);
    await failingSince(id, '5 days 1 minute');
    await change(id, { held_until: service.db.raw(`now() + interval '1 hour'`) });
    await enqueue(id, 1, 37);

    await discard();

    expect(await endpoint(id)).toMatchObject({ given_up: 1, disabled_at: null });
  });

  it('is reset by an accepted event', async () => {
    const receiver = await startReceiver();
    const id = await sendTo(service.db, receiver.url);
    await failingSince(id, '10 days');

    await upload();

    await eventually('it is reset', async () => (await endpoint(id)).failures_in_a_row === 0, 30);
    expect((await endpoint(id)).failing_since).toBeNull();
  });
});

describe('a disabled endpoint whose events cannot be discarded', () => {
  it('delays neither deliveries to others nor the discarding of their events', async () => {
    const alive = await startReceiver();
    const [stuck, disabled] = [await sendTo(service.db, alive.url), await sendTo(service.db, alive.url)];
    await service.db.raw(`
      create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
      create trigger refuse before delete on webhook_deliveries
        for each row when (old.webhook_endpoint_id = ${stuck}) execute function refuse()`);
    await enqueue(stuck, 3);
    await enqueue(disabled, 3);
    await service.db('webhook_endpoints').update({ disabled_at: service.db.fn.now() });

    await sendTo(service.db, alive.url);
    await upload();

    await eventually('the healthy endpoint gets its event', () => alive.received.length === 1, 30);
    await eventually('the others are discarded', async () => (await pendingOf(disabled)).length === 0, 30);
    expect(await pendingOf(stuck)).toHaveLength(3);
    await service.db.raw('drop trigger refuse on webhook_deliveries');
  });
});

describe('an endpoint that another transaction has locked', () => {
  it('has its failed deliveries rescheduled without a connection that waits', async () => {
    const receiver = await startReceiver();
    receiver.answer = () => ({ status: 500 });
    const id = await sendTo(service.db, receiver.url);
    const lock = await service.db.transaction();
    await lock.raw('select from webhook_endpoints where webhook_endpoint_id = ? for update', [id]);

    await upload();

    const rescheduled = { is_being_sent: false, attempts: 1, last_result: 'HTTP 500' };
    await eventually(
      'it is rescheduled',
      async () => {
        expect(await pendingOf(id)).toMatchObject([rescheduled]);
      },
      30,
    ).finally(() => lock.rollback());
  });
});
