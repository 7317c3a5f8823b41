import fc from 'fast-check';
import {
  claimDeliveries,
  endDelivery,
  releaseDelivery,
  rescheduleDelivery,
  deliveriesPerEndpoint,
} from '../../src/webhooks/deliveries.repository';
import { discardDeliveries } from '../../src/webhooks/housekeeping';
import { createLog } from '../../src/base/log';
import { casesFor } from '../support/fuzz';
import { startTestService, type TestService } from '../support/service';
import { sendTo } from '../support/webhooks';

const perEndpoint = deliveriesPerEndpoint;

let service: TestService;
beforeAll(async () => {
  // Without a webhook worker.
  service = await startTestService();
});
afterEach(async () => {
  await service.db('webhook_deliveries').delete();
  await service.db('webhook_endpoints').delete();
  await service.db('webhook_outcomes').delete();
});

const delivered = { status: 'delivered', lastResult: 'HTTP 204' } as const;

/** Creates an endpoint with due deliveries, the longest due first. @returns its number */
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

const claim = (max = 100) => claimDeliveries(service.db, { max });
const claimedIds = async (max?: number) => (await claim(max)).map(({ message_id }) => message_id).sort();
const expireLeases = () =>
  service
    .db('webhook_deliveries')
    .where({ is_being_sent: true })
    .update({ next_attempt_at: new Date(0) });
const all = () => service.db('webhook_deliveries').orderBy('webhook_delivery_id');

describe('due webhook deliveries', () => {
  it('are claimed once, up to a limit per endpoint, the longest due first', async () => {
    const [one, other] = [await createDue(5), await createDue(1)];

    expect(await claimedIds()).toEqual(
      [`msg_${other}_1`, ...[1, 2, 3].map((at) => `msg_${one}_${at}`)].sort(),
    );
    expect(await claimedIds()).toEqual([]);
  });

  it('are claimed round-robin over the endpoints when there are too few slots', async () => {
    const endpoints = [await createDue(3), await createDue(3), await createDue(3)];

    expect(await claimedIds(3)).toEqual(endpoints.map((id) => `msg_${id}_1`).sort());
  });

  it('are claimed for endpoints with nothing in progress before endpoints with more due', async () => {
    const busy = [await createDue(9), await createDue(9)];
    await claim(4);
    const quiet = await createDue(1);
    await service.db.raw(
      'update webhook_deliveries set next_attempt_at = now() where webhook_endpoint_id = ?',
      [quiet],
    );

    expect(await claimedIds(2)).toEqual([`msg_${quiet}_1`, `msg_${busy[0]}_3`].sort());
  });

  it('are claimed like in a simple model: fewest in progress first, then the one served the longest ago', async () => {
    const anEndpoint = fc.record({
      due: fc.uniqueArray(fc.integer({ min: 1, max: 1_000 }), { maxLength: 5 }),
      sent: fc.integer({ min: 0, max: perEndpoint }),
      served: fc.option(fc.record({ at: fc.nat(), isSlow: fc.boolean() }), { nil: undefined }),
    });
    const limits = fc.record({ max: fc.nat(8), slowMax: fc.nat(8) });
    await fc.assert(
      fc.asyncProperty(
        fc.array(anEndpoint, { maxLength: 8 }),
        limits,
        async (endpoints, { max, slowMax }) => {
          await service.db('webhook_deliveries').delete();
          await service.db('webhook_endpoints').delete();
          const made: ((typeof endpoints)[number] & { id: number })[] = [];
          for (const endpoint of endpoints) {
            const id = await createDue(0);
            made.push({ ...endpoint, id });
            await service.db.raw(
              `insert into webhook_deliveries
               (webhook_endpoint_id, message_id, event_type, happened_at, content, is_being_sent, next_attempt_at)
             select cast(:id as bigint), :id || '_' || ago, 'order.created', now(), cast('{}' as json), false, now() - ago * interval '1 minute'
             from unnest(cast(:due as integer[])) as ago
             union all
             select cast(:id as bigint), 'sent', 'order.created', now(), '{}', true, now() + interval '1 minute' from generate_series(1, :sent)`,
              { id, due: endpoint.due, sent: endpoint.sent },
            );
          }
          const known = made
            .filter(({ served }) => served)
            .sort((a, b) => a.served!.at - b.served!.at || a.id - b.id);
          const claimable = made.flatMap(({ id, due, sent, served }) =>
            due
              .sort((a, b) => b - a)
              .slice(0, perEndpoint - sent)
              .map((ago, place) => ({
                id: `${id}_${ago}`,
                isSlow: served?.isSlow ?? false,
                order: [sent + place, known.findIndex((one) => one.id === id), -ago] as const,
              })),
          );
          claimable.sort(({ order: a }, { order: b }) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
          const first = (isSlow: boolean, count: number) =>
            claimable.filter((one) => one.isSlow === isSlow).slice(0, count);
          const expected = [...first(false, max), ...first(true, slowMax)];
          // Among equal ones, any may be claimed.
          const orders = (ids: string[]) =>
            ids
              .map((id) => claimable.find((one) => one.id === id))
              .map((one) => JSON.stringify(one && [one.isSlow, one.order]))
              .sort();

          const claimed = await claimDeliveries(service.db, {
            max,
            slowMax,
            served: new Map(known.map(({ id, served }) => [id, served!.isSlow])),
          });

          expect(orders(claimed.map(({ message_id }) => message_id))).toEqual(
            orders(expected.map(({ id }) => id)),
          );
        },
      ),
      casesFor('claims of webhook deliveries', 60),
    );
  });

  it('are claimed by one of several concurrent workers, which share the limit per endpoint', async () => {
    await createDue(20);
    await createDue(20);

    const claims = await Promise.all(Array.from({ length: 8 }, () => claim()));

    const ids = claims.flat().map(({ message_id }) => message_id);
    expect(ids).toHaveLength(2 * perEndpoint);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('free their slots when they end, are released or are rescheduled', async () => {
    const id = await createDue(5);
    const [accepted, released, failed] = await claim();

    await endDelivery(service.db, accepted!, delivered);
    await releaseDelivery(service.db, released!);
    await rescheduleDelivery(service.db, failed!, { seconds: 3600, lastResult: 'HTTP 500' });

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

describe('a webhook delivery whose lease has expired', () => {
  it('is claimed again, as the next attempt', async () => {
    await createDue(1);
    await claim();

    await expireLeases();

    expect(await claim()).toMatchObject([{ attempts: 2 }]);
  });

  it('is not changed by the worker that held the lease', async () => {
    await createDue(1);
    const [late] = await claim();
    await expireLeases();
    await claim();
    const before = await all();

    await endDelivery(service.db, late!, delivered);
    await releaseDelivery(service.db, late!);
    await rescheduleDelivery(service.db, late!, { seconds: 0, lastResult: 'HTTP 500' });

    expect(await all()).toEqual(before);
    expect(await service.db('webhook_outcomes')).toEqual([]);
  });
});

describe('webhook deliveries of a disabled or removed endpoint', () => {
  it('are removed, but kept as discarded outcomes for a disabled endpoint', async () => {
    const [kept, disabled, removed] = [await createDue(1), await createDue(2), await createDue(2)];
    await service.db('webhook_endpoints').where('webhook_endpoint_id', removed).delete();
    await service
      .db('webhook_endpoints')
      .where('webhook_endpoint_id', disabled)
      .update({ disabled_at: service.db.fn.now() });
    expect(await claimedIds()).toEqual([`msg_${kept}_1`]);

    await discardDeliveries({ db: service.db, log: createLog('fatal') });

    expect(await all()).toMatchObject([{ webhook_endpoint_id: kept }]);
    expect(await service.db('webhook_outcomes').orderBy('message_id')).toMatchObject([
      { message_id: `msg_${disabled}_1`, status: 'discarded', last_result: 'endpoint disabled' },
      { message_id: `msg_${disabled}_2`, status: 'discarded' },
    ]);
  });

  it('are discarded in batches, even if one of them is locked, and by any plan', async () => {
    const id = await createDue(12_000);
    await service
      .db('webhook_endpoints')
      .where('webhook_endpoint_id', id)
      .update({ disabled_at: service.db.fn.now() });
    await service.db.raw(`
      create table batch_sizes (size integer);
      create function note_batch() returns trigger language plpgsql as $$
      begin insert into batch_sizes select count(*) from gone; return null; end $$;
      create trigger note_batch after delete on webhook_deliveries referencing old table as gone
        for each statement execute function note_batch()`);
    const lock = await service.db.transaction();
    await lock.raw('select from webhook_deliveries order by webhook_delivery_id limit 1 for update');

    // Only a nested loop is left, as PostgreSQL chooses for a table that it believes is small.
    const nested = await service.db.transaction();
    for (const method of ['hashjoin', 'mergejoin', 'hashagg', 'sort', 'material'])
      await nested.raw(`set local enable_${method} = off`);
    await discardDeliveries({ db: nested, log: createLog('fatal') });
    await nested.commit();

    expect(await all()).toHaveLength(1);
    await lock.rollback();
    await discardDeliveries({ db: service.db, log: createLog('fatal') });
    expect(await all()).toEqual([]);
    expect(await service.db('webhook_outcomes')).toHaveLength(12_000);
    const { max } = (await service.db('batch_sizes').max('size').first()) as { max: number };
    expect(max).toBeLessThanOrEqual(5_000);
    await service.db.raw('drop trigger note_batch on webhook_deliveries; drop table batch_sizes');
  });
});
