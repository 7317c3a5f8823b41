import { eventually } from '../support/eventually';
import { moveDeliveriesOfLastRelease } from '../../src/webhooks/last-release';
import { startTestService, type TestService } from '../support/service';
import { sendTo, startReceiver } from '../support/webhook-receiver';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ webhooks: 'to any address' });
});

/** Publishes an event as release 1.2.0 does. */
const publishAsLastRelease = (partnerName: string) =>
  service.db.raw(
    `select queue_events(array['order.created'], array[:partnerName], array[json_build_object('order_id', 1)], 3)`,
    { partnerName },
  );

const left = () => service.db('graphile_worker.jobs').where('task_identifier', 'send_webhook');

describe('webhook deliveries that the last release has left in its queue', () => {
  it('are sent by this one', async () => {
    const receiver = await startReceiver();
    await sendTo(service.db, receiver.url);
    await service.api.loadFeed('sku,product_name,price\nA,A,1\n', 'Acme');
    const { body } = await service.api.get('/products');
    const items = [{ product_id: body.items[0].product_id as string, quantity: 1 }];
    const { body: order } = await service.api.post('/orders', { partner_name: 'Acme', items });
    await eventually('the others are sent', () => receiver.received.length === 3);
    await publishAsLastRelease('Acme');

    await Promise.all([1, 2, 3].map(() => moveDeliveriesOfLastRelease(service.db)));

    await eventually('it is sent', () => receiver.received.length === 4, 30);
    expect(receiver.events().at(-1)).toEqual({ type: 'order.created', data: order });
    expect(await left()).toEqual([]);
    await service.db('webhook_endpoints').delete();
  });

  it('keep their id, their time and how often they have failed', async () => {
    const id = await sendTo(service.db, 'http://localhost/');
    await service.db('webhook_endpoints').update({ paused_until: new Date(Date.now() + 3600_000) });
    const delivery = {
      endpoint_id: id,
      message_id: 'msg_1',
      type: 'order.created',
      timestamp: '2026-11-22T10:00:00.123Z',
      content: { order_id: 7 },
      failed_attempts: 4,
    };
    await service.db.raw('select queue_deliveries(array[cast(? as json)], 3600, 1)', [
      JSON.stringify(delivery),
    ]);

    await moveDeliveriesOfLastRelease(service.db);

    const [moved] = await service.db('webhook_deliveries').where('webhook_endpoint_id', id);
    expect(moved).toMatchObject({
      message_id: 'msg_1',
      event_type: 'order.created',
      happened_at: new Date('2026-11-22T10:00:00.123Z'),
      content: { order_id: 7 },
      attempts: 4,
      is_being_sent: false,
    });
    expect(moved.next_attempt_at.getTime()).toBeGreaterThan(Date.now() + 3500_000);
    await service.db('webhook_endpoints').delete();
  });

  it('are left to its workers while those send them, and moved when those have died', async () => {
    await sendTo(service.db, 'http://localhost/', { partner_name: 'Nobody' });
    await publishAsLastRelease('Nobody');
    const lockedFor = (interval: string) =>
      service.db.raw(
        `update graphile_worker._private_jobs set locked_by = 'a worker', locked_at = now() - cast(? as interval)`,
        [interval],
      );

    await lockedFor('50 seconds');
    await moveDeliveriesOfLastRelease(service.db);
    expect(await left()).toHaveLength(1);

    await lockedFor('70 seconds');
    await moveDeliveriesOfLastRelease(service.db);
    expect(await left()).toEqual([]);
    await service.db('webhook_endpoints').delete();
  });

  it('are none where there is no queue of that release', async () => {
    const trx = await service.db.transaction();
    await trx.raw('drop schema graphile_worker cascade');

    await moveDeliveriesOfLastRelease(trx);

    await trx.rollback();
  });
});
