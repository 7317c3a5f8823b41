import { limits } from '../../src/limits';
import { removeIdleLanes } from '../../src/queue/queue';
import { eventually } from '../support/eventually';
import { startTestService, type TestService } from '../support/service';

let service: TestService;
beforeAll(async () => {
  // Nobody works on the queue.
  service = await startTestService();
});
afterEach(async () => {
  await service.db('graphile_worker._private_jobs').delete();
  await service.db('graphile_worker._private_job_queues').delete();
});

interface Job {
  id: number;
  key: string | null;
  lane: string;
  locked_by: string | null;
  lane_locked_by: string | null;
  payload: object;
}

async function jobs(): Promise<Job[]> {
  const { rows } = await service.db.raw<{ rows: Job[] }>(
    `select job.id, key, payload, queue_name as lane, job.locked_by, lane.locked_by as lane_locked_by
     from graphile_worker._private_jobs as job join graphile_worker._private_job_queues as lane on lane.id = job_queue_id
     order by job.id`,
  );
  return rows;
}

const lanes = async (): Promise<string[]> =>
  (await service.db('graphile_worker._private_job_queues').pluck<string[]>('queue_name')).sort();

/** Has a job, and its lane, taken from the queue so long ago. */
const take = (id: number, worker: string, secondsAgo: number) =>
  service.db.raw(
    `with job as (
       update graphile_worker._private_jobs set locked_by = :worker, locked_at = now() - :secondsAgo * interval '1 second'
       where id = :id returning *
     )
     update graphile_worker._private_job_queues as lane set locked_by = job.locked_by, locked_at = job.locked_at
     from job where lane.id = job_queue_id`,
    { id, worker, secondsAgo },
  );

/** What a worker says that has made a delivery, as the queue has it. */
const complete = (id: number, worker: string) =>
  service.db.raw(
    `with j as (delete from graphile_worker._private_jobs where id = :id returning *)
     update graphile_worker._private_job_queues as lane set locked_by = null, locked_at = null
     from j where lane.id = j.job_queue_id and lane.locked_by = :worker`,
    { id, worker },
  );

/** Puts a delivery into the queue, to an endpoint that does not matter. */
const queue = (endpointId: number) =>
  service.db.raw(`select queue_deliveries(array[cast(? as json)], 0, ?)`, [
    JSON.stringify({ endpoint_id: endpointId, message_id: `msg_${endpointId}`, type: 'order.created' }),
    limits.deliveriesPerEndpoint,
  ]);

describe('lanes of the queue', () => {
  it('are removed when nothing waits in them', async () => {
    for (const endpointId of [1, 2, 3]) await queue(endpointId);
    const [idle, waiting, taken] = (await jobs()) as [Job, Job, Job];
    await take(taken.id, 'pool', 0);
    await complete(idle.id, 'nobody');

    await eventually('it is done', () => removeIdleLanes(service.db));

    expect(await lanes()).toEqual([waiting.lane, taken.lane]);
  });

  it('stay while somebody puts something there, whose end they do not wait for', async () => {
    await queue(1);
    const [job] = (await jobs()) as [Job];
    await service.db('graphile_worker._private_jobs').delete();
    const trx = await service.db.transaction();
    await trx.raw(`select graphile_worker.add_job('send_webhook', queue_name => ?)`, [job.lane]);

    expect(await removeIdleLanes(service.db)).toBe(false);

    await trx.commit();
    await eventually('it is done', () => removeIdleLanes(service.db));
    expect(await jobs()).toMatchObject([{ lane: job.lane }]);
  });

  it('have numbers that begin again when they are used up: nothing fails for want of one', async () => {
    const last = 2 ** 31 - 1;
    await service.db.raw(
      `select setval(pg_get_serial_sequence('graphile_worker._private_tasks', 'id'), :last),
         setval(pg_get_serial_sequence('graphile_worker._private_job_queues', 'id'), :last)`,
      { last },
    );

    await queue(1);

    expect(await jobs()).toHaveLength(1);
  });
});
