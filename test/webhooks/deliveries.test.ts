import {
  claimDeliveries,
  deleteDelivery,
  releaseDelivery,
  rescheduleDelivery,
  deliveriesPerEndpoint,
} from '../../src/webhooks/deliveries.repository';
import { discardDeliveries } from '../../src/webhooks/deliver';
import { createLog } from '../../src/shared/log';
import { startTestService, type TestService } from '../support/service';
import { sendTo } from '../support/webhooks';

const perEndpoint = deliveriesPerEndpoint;

let service: TestService;
beforeAll(async () => {
  // Nothing is sent.
  service = await startTestService();
});
afterEach(async () => {
  await service.db('webhook_deliveries').delete();
  await service.db('webhook_endpoints').delete();
});

/** Creates an endpoint, and deliveries to it that are due, the first one for the longest. @returns its number */
async function createDue(count: number): Promise<number> {
  const id = await sendTo(service.db, 'http://localhost/');
  await service.db.raw(
    `insert into webhook_deliveries (webhook_endpoint_id, message_id, event_type, happened_at, content, next_attempt_at)
     select :id, 'msg_' || :id || '_' || number, 'order.created', now(), '{}', now() - (100 - number) * interval '1 second'
     from generate_series(1, :count) as number`,
    { id, count },
  );
  return id;
}

const claim = (max = 100) => claimDeliveries(service.db, max);
const claimedIds = async (max?: number) => (await claim(max)).map(({ message_id }) => message_id).sort();
const expireLeases = () =>
  service
    .db('webhook_deliveries')
    .where({ is_being_sent: true })
    .update({ next_attempt_at: new Date(0) });
const all = () => service.db('webhook_deliveries').orderBy('webhook_delivery_id');

describe('webhook deliveries that are due', () => {
  it('are claimed once, a few of each endpoint at a time, those due for the longest first', async () => {
    const [one, other] = [await createDue(5), await createDue(1)];

    expect(await claimedIds()).toEqual(
      [`msg_${other}_1`, ...[1, 2, 3].map((at) => `msg_${one}_${at}`)].sort(),
    );
    expect(await claimedIds()).toEqual([]);
  });

  it('are claimed round-robin where there is no room for all', async () => {
    const endpoints = [await createDue(3), await createDue(3), await createDue(3)];

    expect(await claimedIds(3)).toEqual(endpoints.map((id) => `msg_${id}_1`).sort());
  });

  it('are claimed by one of several workers at the same moment, not more of an endpoint than one would claim', async () => {
    await createDue(20);
    await createDue(20);

    const claims = await Promise.all(Array.from({ length: 8 }, () => claim()));

    const ids = claims.flat().map(({ message_id }) => message_id);
    expect(ids).toHaveLength(2 * perEndpoint);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('make room for the next ones when they are accepted, given back or rescheduled', async () => {
    const id = await createDue(5);
    const [accepted, released, failed] = await claim();

    await deleteDelivery(service.db, accepted!);
    await releaseDelivery(service.db, released!);
    await rescheduleDelivery(service.db, failed!, 3600);

    const again = await claim();
    expect(again.map(({ message_id, attempts }) => [message_id, attempts]).sort()).toEqual([
      [released!.message_id, 1],
      [`msg_${id}_4`, 1],
      [`msg_${id}_5`, 1],
    ]);
    expect(await all()).toMatchObject([
      { message_id: released!.message_id, is_being_sent: true },
      { message_id: failed!.message_id, attempts: 1, is_being_sent: false },
      { is_being_sent: true },
      { is_being_sent: true },
    ]);
  });
});

describe('a webhook delivery whose worker has died', () => {
  it('is claimed by another one when the lease has expired, as the next attempt', async () => {
    await createDue(1);
    await claim();

    await expireLeases();

    expect(await claim()).toMatchObject([{ attempts: 2 }]);
  });

  it('is not changed by that worker, should it live after all', async () => {
    await createDue(1);
    const [late] = await claim();
    await expireLeases();
    await claim();
    const before = await all();

    await deleteDelivery(service.db, late!);
    await releaseDelivery(service.db, late!);
    await rescheduleDelivery(service.db, late!, 0);

    expect(await all()).toEqual(before);
  });
});

describe('webhook deliveries to an endpoint that is disabled or removed', () => {
  it('are dropped, and no others', async () => {
    const [kept, disabled, removed] = [await createDue(1), await createDue(2), await createDue(2)];
    await service.db('webhook_endpoints').where('webhook_endpoint_id', removed).delete();
    await service
      .db('webhook_endpoints')
      .where('webhook_endpoint_id', disabled)
      .update({ disabled_at: service.db.fn.now() });
    expect(await claimedIds()).toEqual([`msg_${kept}_1`]);

    await discardDeliveries({ db: service.db, log: createLog('fatal') });

    expect(await all()).toMatchObject([{ webhook_endpoint_id: kept }]);
  });
});
