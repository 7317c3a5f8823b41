import { recoverRuns } from '../../src/runs/queue/recovery';
import { requestRunOf } from '../support/requested-runs';
import { createOrders, type RequestedOrder } from '../../src/sales/orders/orders.creation';
import { eventually } from '../support/harness';
import { leaveRunning, whileLoading } from '../support/runs-in-flight';
import { startTestService, type TestService } from '../support/service';
import { sendTo, startReceiver, type Receiver, bodyErrors, eventErrors } from '../support/webhooks';

const csv = 'sku,product_name,price\nTENT-2,Two-person tent,189.90\nLAMP-1,Head lamp,"24,5"\n';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ webhooks: 'to any address', queuedRuns: 1 });
});

/** Starts a receiver with its own endpoint. */
async function subscribe(only?: Parameters<typeof sendTo>[2]): Promise<Receiver> {
  const receiver = await startReceiver();
  await sendTo(service.db, receiver.url, only);
  return receiver;
}

/** Waits until no delivery is pending. */
const allDelivered = () =>
  eventually('nothing is pending', async () => {
    return (await service.db('webhook_deliveries').first('webhook_delivery_id')) === undefined;
  });

const types = ({ received }: Receiver) => received.map(({ event }) => event.type);

async function order(
  partnerName: string,
  headers = {},
): Promise<{ status: number; body: { order_id: string } }> {
  const { body } = await service.api.get(`/products?partner_name=${partnerName}`);
  const items = [{ product_id: body.items[0].product_id as string, quantity: 2 }];
  return service.api.post('/orders', { partner_name: partnerName, items }, headers);
}

/** An order of the first product of a feed, created by the repository. */
async function orderOf(feedId: string, partnerName: string): Promise<RequestedOrder> {
  const [productId] = await service
    .db('products')
    .where('feed_id', Number(feedId.slice(2)))
    .pluck<number[]>('product_id');
  return { partnerName, customerReference: null, items: [{ productId, quantity: 1 }], scope: null };
}

describe('an endpoint', () => {
  it('gets an upload, its run, an order and a failed run, each with the resource as the API returned it then', async () => {
    const receiver = await subscribe({ partner_name: 'All of it' });
    const get = async (path: string) => (await service.api.get(path)).body;

    const feed = await service.api.uploadFeed(csv, 'All of it');
    const uploaded = await get(`/feeds/${feed.feedId}`);
    await service.api.post(`/jobs/${feed.jobId}/run`);
    const completed = await get(`/jobs/${feed.jobId}`);
    const ordered = await get(`/orders/${(await order('All of it')).body.order_id}`);
    const broken = await service.api.loadFeed(`${csv}"`, 'All of it');
    const failed = await get(`/jobs/${broken.jobId}`);
    // A later change is not in the earlier event.
    await service.api.post(`/jobs/${feed.jobId}/run`);

    await allDelivered();
    const { received } = receiver;
    expect(receiver.events()).toHaveLength(8);
    expect(receiver.events()).toEqual(
      expect.arrayContaining([
        { type: 'feed.uploaded', data: uploaded },
        { type: 'job.completed', data: completed },
        { type: 'order.created', data: ordered },
        { type: 'job.failed', data: failed },
      ]),
    );
    expect(types(receiver).sort()).toEqual([
      'feed.uploaded',
      'feed.uploaded',
      'job.completed',
      'job.completed',
      'job.failed',
      'order.created',
      // The failed run is a reason until another run completes.
      'partner.attention',
      'partner.attention',
    ]);
    for (const message of received) expect(eventErrors(message)).toEqual([]);
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(8);
  });

  it('gets queued runs, and runs that were interrupted in their last attempt', async () => {
    const receiver = await subscribe({
      partner_name: 'Queued',
      event_types: ['job.completed', 'job.failed'],
    });
    const feed = await service.api.uploadFeed(csv, 'Queued');
    await service.api.post(`/jobs/${feed.jobId}/run`, undefined, { prefer: 'respond-async, wait=30' });
    const lost = await service.api.uploadFeed(csv, 'Queued');
    await leaveRunning(service, lost);

    expect((await recoverRuns(service.db)).failed).toContain(Number(lost.jobId.slice(2)));
    await recoverRuns(service.db);

    await allDelivered();
    expect(receiver.received.map(({ event }) => [event.type, event.data])).toEqual(
      expect.arrayContaining([
        ['job.completed', (await service.api.get(`/jobs/${feed.jobId}`)).body],
        ['job.failed', (await service.api.get(`/jobs/${lost.jobId}`)).body],
      ]),
    );
    expect(receiver.received).toHaveLength(2);
  });

  it('gets no event of a run that is cancelled before it starts', async () => {
    const feed = await service.api.loadFeed(csv, 'Dequeued');
    const other = await service.api.uploadFeed(csv, 'Uses the only slot');
    const receiver = await subscribe({ partner_name: 'Dequeued' });

    await whileLoading(service, other, async () => {
      await service.api.post(`/jobs/${feed.jobId}/run`, undefined, { prefer: 'respond-async' });
      expect((await service.api.post(`/jobs/${feed.jobId}/cancel`)).body).toEqual(feed.job);
    });

    await allDelivered();
    expect(receiver.received).toEqual([]);
  });

  it('gets the mode of a feed, and the withdrawals of a run that has some or was stopped by their number', async () => {
    const rows = (count: number) =>
      ['sku,product_name', ...Array.from({ length: count }, (_, at) => `S${at},Name`)].join('\n');
    await service.api.loadFeed(rows(13), 'Replaced');
    const receiver = await subscribe({ partner_name: 'Replaced' });
    const replace = { mode: 'replace', collection: 'main' };

    await service.api.loadFeed(rows(12), 'Replaced', replace);
    await service.api.loadFeed(rows(1), 'Replaced', replace);

    await allDelivered();
    const ofType = (type: string) => receiver.events().filter((event) => event.type === type);
    expect(ofType('feed.uploaded')).toMatchObject([{ data: replace }, { data: replace }]);
    expect(ofType('job.completed')).toMatchObject([{ data: { summary: { withdrawn: 1, restored: 0 } } }]);
    expect(ofType('job.failed')).toMatchObject([{ data: { summary: { withdrawn: 0, would_withdraw: 11 } } }]);
  });

  it('gets a revert as the API returned it, and no event of a failed one', async () => {
    const feed = await service.api.loadFeed(csv, 'Reverted');
    const receiver = await subscribe({ partner_name: 'Reverted' });

    const { body: revert } = await service.api.post(`/jobs/${feed.jobId}/revert?run=1`);
    const reverts = { run: 2, skipsConflicts: false };
    await requestRunOf(service.db, Number(feed.jobId.slice(2)), { reverts, attempts: 1 });
    await service.db('products').update({ description: 'by hand' });
    await eventually('it has failed', async () => {
      const { body } = await service.api.get(`/jobs/${feed.jobId}/runs`);
      return body.items[0].status === 'failed';
    });

    await allDelivered();
    expect(receiver.events()).toEqual([{ type: 'job.reverted', data: revert }]);
  });

  it('gets a stale partner found by release 1.2.0, which had no attention', async () => {
    const receiver = await subscribe({ partner_name: 'Stale' });
    const partner = {
      ...{ partner_name: 'Stale', products: 2, feeds: 1, last_feed_id: 1 },
      last_completed_at: '2026-03-01T09:31:00+00:00',
    };

    await service.db.raw(
      `select publish_events(array['partner.stale'], array['Stale'], array[cast(? as json)])`,
      [JSON.stringify(partner)],
    );

    await allDelivered();
    const [sent] = receiver.received;
    expect(bodyErrors('partner.stale', sent!.event)).toEqual([]);
    expect(sent!.event.data).toMatchObject({ partner_name: 'Stale', attention: [] });
  });

  it('gets only events of its partner and of its types', async () => {
    const everything = await subscribe();
    const ofBirch = await subscribe({ partner_name: 'Birch' });
    const uploads = await subscribe({ event_types: ['feed.uploaded'] });
    const ordersOfBirch = await subscribe({ partner_name: 'Birch', event_types: ['order.created'] });

    await service.api.loadFeed(csv, 'Birch');
    await order('Birch');
    await service.api.loadFeed(csv, 'Cedar');

    await allDelivered();
    const all = ['feed.uploaded', 'feed.uploaded', 'job.completed', 'job.completed', 'order.created'];
    expect(types(everything).sort()).toEqual(all);
    expect(types(ofBirch).sort()).toEqual(['feed.uploaded', 'job.completed', 'order.created']);
    expect(types(uploads)).toEqual(['feed.uploaded', 'feed.uploaded']);
    expect(types(ordersOfBirch)).toEqual(['order.created']);
    // One event has the same id at every endpoint.
    const idOf = ({ received }: Receiver) =>
      received.find(({ event }) => event.type === 'order.created')!.headers['webhook-id'];
    expect(idOf(everything)).toBe(idOf(ordersOfBirch));
    await service.db('webhook_endpoints').whereNull('partner_name').delete();
  });

  it('gets an order once, also when its request is replayed', async () => {
    await service.api.loadFeed(csv, 'Repeated');
    const receiver = await subscribe({ partner_name: 'Repeated' });
    const key = { 'idempotency-key': 'one order' };

    const first = await order('Repeated', key);
    const again = await order('Repeated', key);

    expect(again.body).toEqual(first.body);
    await allDelivered();
    expect(receiver.events()).toEqual([{ type: 'order.created', data: first.body }]);
  });

  it('gets each of the orders that one statement creates', async () => {
    const { feedId } = await service.api.loadFeed(csv, 'Together');
    const receiver = await subscribe({ partner_name: 'Together' });
    const one = await orderOf(feedId, 'Together');

    const created = await createOrders(
      service.db,
      [one, { ...one, partnerName: 'Another partner' }, one],
      'USD',
    );
    const ids = (created as { body: string }[]).map(
      ({ body }) => (JSON.parse(body) as { order_id: string }).order_id,
    );

    expect(ids).toHaveLength(3);
    await allDelivered();
    expect(
      receiver.received.map(({ event }) => (event.data as { order_id: string }).order_id).sort(),
    ).toEqual([ids[0], ids[2]]);
  });

  it('shares the message id of each event with the other endpoints, for any plan of the database', async () => {
    const trx = await service.db.transaction();
    for (const path of ['one', 'two'])
      await sendTo(trx, `http://localhost/${path}`, { partner_name: 'Many' });
    // Makes a nested loop likely, which evaluates the events once per endpoint.
    await trx.raw(
      'analyze webhook_endpoints; set local plan_cache_mode = force_generic_plan; set local enable_material = off',
    );

    await trx.raw(
      `select publish_events(
         array_fill('order.created'::text, array[20]), array_fill('Many'::text, array[20]), array_fill('{}'::json, array[20])
       )`,
    );

    const { rows } = await trx.raw(
      `select cast(count(*) as integer) as deliveries, cast(count(distinct message_id) as integer) as ids
       from webhook_deliveries`,
    );
    await trx.rollback();
    expect(rows).toEqual([{ deliveries: 40, ids: 20 }]);
  });

  it('gets no event from a transaction that was rolled back', async () => {
    const { feedId } = await service.api.loadFeed(csv, 'Undone');
    const receiver = await subscribe({ partner_name: 'Undone' });
    const one = await orderOf(feedId, 'Undone');

    await service.db
      .transaction(async (trx) => {
        await createOrders(trx, [one], 'USD');
        await trx.rollback();
      })
      .catch(() => undefined);
    const { body } = await order('Undone');

    await allDelivered();
    expect(receiver.events()).toEqual([{ type: 'order.created', data: body }]);
  });

  it('gets no event while it is disabled', async () => {
    await service.api.loadFeed(csv, 'Too early');
    const receiver = await subscribe({ partner_name: 'Too early' });
    await service.db('webhook_endpoints').where('url', receiver.url).update({ disabled_at: new Date() });

    await order('Too early');

    expect(await service.db('webhook_deliveries')).toEqual([]);
    expect(receiver.received).toEqual([]);
  });
});
