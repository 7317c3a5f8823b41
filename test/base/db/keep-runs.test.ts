import * as keepRuns from '../../../migrations/20261127040000_keep_runs_from_their_request';
import { createTestDatabase } from '../../support/databases';

it('converts the queue of jobs, as release 1.2.0 wrote it, to a queue of runs, and can be rolled back', async () => {
  const { db } = await createTestDatabase();
  await keepRuns.down(db);
  const [partner] = await db<object>('partners').insert({ partner_name: 'Acme' }, ['partner_id']);
  let feeds = 0;
  const insertJob = async (state: object): Promise<number> => {
    const file = { filename: 'a.csv', content_type: 'text/csv', sha256: Buffer.alloc(32), size_bytes: 1 };
    const at = { raw_file_bucket: 'local', raw_file_object_key: String(feeds++) };
    const [feed] = await db<object>('feeds').insert({ ...partner, ...file, ...at }, ['feed_id']);
    const [job] = await db('validation_jobs').insert({ ...feed, ...state }, ['job_id']);
    return (job as { job_id: number }).job_id;
  };
  const at = (minute: number) => new Date(Date.UTC(2026, 10, 27, 10, minute));
  const request = { attempts_left: 3, requested_by: 'nightly', max_withdrawn: 7, allow_older: true };
  await insertJob({});
  const queued = await insertJob({ run_requested_at: at(1), run_partner_id: 1, ...request });
  const ofLastRelease = await insertJob({ queued_at: at(2) });
  const running = await insertJob({ run_requested_at: at(3), run_partner_id: 1, ...request });
  await db('validation_jobs')
    .where('job_id', running)
    .update({ status: 'running', run_count: 1, started_at: at(4), cancel_requested: true });
  const reverted = await insertJob({ run_count: 2 });
  const revert = { kind: 'revert', status: 'queued', reverts_run: 1, requested_at: at(5), attempts_left: 5 };
  await db('runs').insert({ job_id: reverted, run: 2, ...revert });
  const jobs = () => db('validation_jobs').orderBy('job_id').select<object[]>('*');
  const before = await jobs();

  await keepRuns.up(db);
  await keepRuns.up(db);

  const columns = [
    'job_id',
    'run',
    'kind',
    'status',
    'requested_at',
    'attempts_left',
    'requested_by',
    'max_withdrawn',
  ];
  const runs = () =>
    db('runs')
      .orderBy('job_id')
      .select<object[]>(...columns, 'allow_older', 'cancel_requested', 'partner_id');
  const moved = await runs();
  const load = { kind: 'load', partner_id: 1, cancel_requested: false };
  const asked = { attempts_left: 3, requested_by: 'nightly', max_withdrawn: 7, allow_older: true };
  expect(moved).toEqual([
    { ...load, ...asked, job_id: queued, run: 1, status: 'queued', requested_at: at(1) },
    {
      ...load,
      ...{ job_id: ofLastRelease, run: 1, status: 'queued', requested_at: at(2), attempts_left: 5 },
      ...{ requested_by: null, max_withdrawn: null, allow_older: false },
    },
    {
      ...load,
      ...asked,
      job_id: running,
      run: 1,
      status: 'running',
      requested_at: at(3),
      cancel_requested: true,
    },
    {
      ...load,
      ...{
        kind: 'revert',
        job_id: reverted,
        run: 2,
        status: 'queued',
        requested_at: at(5),
        attempts_left: 5,
      },
      ...{ requested_by: null, max_withdrawn: null, allow_older: false },
    },
  ]);

  await keepRuns.down(db);
  // The queue of release 1.2.0 is now in this one.
  const isMoved = { queued_at: at(2), run_requested_at: at(2), run_partner_id: 1, attempts_left: 5 };
  expect(await jobs()).toEqual(
    before.map((job) => ('job_id' in job && job.job_id === ofLastRelease ? { ...job, ...isMoved } : job)),
  );
  await keepRuns.up(db);
  expect(await runs()).toEqual(moved);
});
