import { eventually } from '../../support/harness';
import { takeOverFromLastRelease } from '../../../src/operation/process/last-release';
import type { UploadedFeed } from '../../support/api-client';
import { makeQueueOfLastRelease } from '../../support/last-release';
import { recoverRuns } from '../../../src/runs/queue/recovery';
import { startTestService, type TestService } from '../../support/service';
import { sendTo, startReceiver } from '../../support/webhooks';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ webhooks: 'to any address', queuedRuns: 2 });
  await makeQueueOfLastRelease(service.address);
});

describe('runs that the last release has queued', () => {
  const jobNumber = ({ jobId }: UploadedFeed) => Number(jobId.slice(2));
  /** Queues a run as release 1.2.0 does. */
  const queueAsLastRelease = async (feed: UploadedFeed) => {
    const job = service.db('validation_jobs').where('job_id', jobNumber(feed));
    await job.update({ queued_at: service.db.fn.now() });
    await service.db.raw("select graphile_worker.add_job('run_feed', job_key => ?)", [
      `run ${jobNumber(feed)}`,
    ]);
  };
  const ended = ({ jobId }: UploadedFeed) =>
    eventually(
      'the run has ended',
      async () => {
        const { body } = await service.api.get(`/jobs/${jobId}`);
        return ['completed', 'failed'].includes(body.status as string) && body;
      },
      30,
    );
  const csv = 'sku,product_name\nA,A\n';

  it('are executed by this release in order', async () => {
    const feeds = [await service.api.uploadFeed(csv, 'Old'), await service.api.uploadFeed(csv, 'Old')];
    for (const feed of feeds) await queueAsLastRelease(feed);

    await Promise.all([1, 2, 3].map(() => takeOverFromLastRelease(service.db)));

    const jobs = await Promise.all(feeds.map(ended));
    expect(jobs.map(({ summary }) => summary.inserted as number)).toEqual([1, 0]);
    expect(await service.db('validation_jobs').whereNotNull('queued_at')).toEqual([]);
  });

  it('are repeated by this release when a process of the last one dies during them', async () => {
    const feed = await service.api.uploadFeed(csv, 'Dies');
    await queueAsLastRelease(feed);
    await service
      .db('validation_jobs')
      .where('job_id', jobNumber(feed))
      .update({ status: 'running', queued_at: null, started_at: service.db.fn.now() });

    await takeOverFromLastRelease(service.db);
    await recoverRuns(service.db);

    expect(await ended(feed)).toMatchObject({ status: 'completed', summary: { inserted: 1 } });
  });
});

/** Publishes an event as release 1.2.0 does. */
const publishAsLastRelease = (partnerName: string) =>
  service.db.raw(
    `select queue_events(array['order.created'], array[:partnerName], array[json_build_object('order_id', 1)], 3)`,
    { partnerName },
  );

const left = () => service.db('graphile_worker.jobs').where('task_identifier', 'send_webhook');

describe('webhook deliveries that the last release has left in its queue', () => {
  it('are sent by this release', async () => {
    const receiver = await startReceiver();
    await sendTo(service.db, receiver.url);
    await service.api.loadFeed('sku,product_name,price\nA,A,1\n', 'Acme');
    const { body } = await service.api.get('/products');
    const items = [{ product_id: body.items[0].product_id as string, quantity: 1 }];
    const { body: order } = await service.api.post('/orders', { partner_name: 'Acme', items });
    await eventually('the others are sent', () => receiver.received.length === 3);
    await publishAsLastRelease('Acme');

    await Promise.all([1, 2, 3].map(() => takeOverFromLastRelease(service.db)));

    await eventually('it is sent', () => receiver.received.length === 4);
    expect(receiver.events().at(-1)).toEqual({ type: 'order.created', data: order });
    expect(await left()).toEqual([]);
    await service.db('webhook_endpoints').delete();
  });

  it('keep their id, time and number of failures', async () => {
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

    await takeOverFromLastRelease(service.db);

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

  it('are left to the workers of the last release while they run, and moved after these have died', async () => {
    await sendTo(service.db, 'http://localhost/', { partner_name: 'Unknown' });
    await publishAsLastRelease('Unknown');
    const lockedFor = (interval: string) =>
      service.db.raw(
        `update graphile_worker._private_jobs set locked_by = 'a worker', locked_at = now() - cast(? as interval)`,
        [interval],
      );

    await lockedFor('50 seconds');
    await takeOverFromLastRelease(service.db);
    expect(await left()).toHaveLength(1);

    await lockedFor('70 seconds');
    await takeOverFromLastRelease(service.db);
    expect(await left()).toEqual([]);
    await service.db('webhook_endpoints').delete();
  });

  it('are not looked for without a queue of the last release', async () => {
    const trx = await service.db.transaction();
    await trx.raw('drop schema graphile_worker cascade');

    await takeOverFromLastRelease(trx);

    await trx.rollback();
  });
});
