import type { components } from '../../../generated/openapi';
import { exitCodes, Failure } from './failures';
import { countText, printable } from './printable';
import type { ProgressView } from './progress-view';
import { checkedBody, list, type Service } from './service';
import type { Session } from './session';

export type JobResource = components['schemas']['Job'];
type RowIssue = components['schemas']['RowIssue'];

/** Long poll for a change of the job; the service allows 60. */
const waitSeconds = 30;
/** Polling interval while the service supports no long poll. */
const pollSeconds = 1;
/** An event stream that stays open this long belongs to a run: without a run it ends at once. */
const eventsSeconds = 5;

const pathOf = (jobId: string) => ({ job_id: jobId });
const aJob = ['a job', 'issue_counts'] as const;

/** Starts a run, or joins the one in progress, and follows it to its end. @throws Failure */
export async function runAndFollow(
  { service, view }: Session,
  jobId: string,
  permissions: { max_withdrawn?: number; allow_older?: boolean },
): Promise<JobResource> {
  const received = await service.ask(
    'the run',
    () =>
      service.api.POST('/jobs/{job_id}/run', {
        params: { path: pathOf(jobId), query: permissions },
        // A small feed takes less: one request instead of three.
        headers: { prefer: 'respond-async, wait=1' },
      }),
    {
      // A second run would replace the counters of the first one.
      isStillNeeded: async () => isUnrequested(await getJob(service, jobId)),
      // The run has started since.
      doneStatus: 409,
    },
  );
  if (!received) return followJobRun({ service, view }, jobId);
  const job = checkedBody(aJob, received);
  return hasEnded(job) ? job : followJob(service, jobId, view, job.queued_at);
}

/** Follows a run to its end, or returns the ended job. @throws Failure, also when no run was requested */
export async function followJobRun(
  { service, view }: Pick<Session, 'service' | 'view'>,
  jobId: string,
): Promise<JobResource> {
  const job = await getJob(service, jobId);
  if (isUnrequested(job) && (await hasNoRun(service, jobId))) {
    throw new Failure(exitCodes.refused, printable(`No run of job ${jobId} was requested.`));
  }
  return followJob(service, jobId, view, job.queued_at);
}

/** Tells whether no run was requested. Checks twice: streams also end when a service shuts down. */
async function hasNoRun(service: Service, jobId: string): Promise<boolean> {
  const check = async () =>
    isUnrequested(await getJob(service, jobId)) &&
    (await service.endsWithin(eventsSeconds, (signal) =>
      service.api.GET('/jobs/{job_id}/events', {
        params: { path: pathOf(jobId) },
        headers: { accept: 'text/event-stream' },
        parseAs: 'text',
        signal,
      }),
    ));
  if (!(await check())) return false;
  await service.pause(pollSeconds);
  return check();
}

/**
 * Shows the progress of a job until its run ends.
 * @param queuedAt - request time of the run, if known
 * @returns the ended job
 * @throws Failure, also when the run is cancelled before it starts
 */
async function followJob(
  service: Service,
  jobId: string,
  view: ProgressView,
  queuedAt?: string,
): Promise<JobResource> {
  let etag: string | undefined;
  for (;;) {
    const headers = etag === undefined ? undefined : { prefer: `wait=${waitSeconds}`, 'if-none-match': etag };
    const received = (await askForJob(service, jobId, headers))!;
    const { response } = received;
    if (response.status !== 304) {
      const job = checkedBody(aJob, received);
      if (queuedAt !== undefined && isCancelled(job, queuedAt)) {
        throw new Failure(exitCodes.refused, cancelledText(jobId));
      }
      if (hasEnded(job)) return job;
      queuedAt = job.queued_at;
      showJob(job, view);
    }
    // An overloaded service responds at once.
    if (etag !== undefined && !response.headers.has('preference-applied')) await service.pause(pollSeconds);
    etag = response.headers.get('etag') ?? '"none"';
  }
}

/** Tells whether the run that was requested at `queuedAt` was cancelled before it started. */
function isCancelled({ status, queued_at, started_at }: JobResource, queuedAt: string): boolean {
  return status !== 'running' && queued_at === undefined && (started_at === null || started_at < queuedAt);
}

export const cancelledText = (jobId: string) =>
  printable(`The run of job ${jobId} was cancelled before it started.`);

export const cancelledRevertText = (jobId: string) =>
  printable(`The revert of a run of job ${jobId} was cancelled: it has changed nothing.`);

/**
 * Cancels the run and waits for its end.
 * @returns the job, and when the run was cancelled; null if it had ended before
 * @throws Failure, also when there is no run
 */
export async function cancelJob(
  { service, view }: Session,
  jobId: string,
): Promise<{
  job: JobResource;
  cancelled: 'before its start' | 'in progress' | 'revert in progress' | null;
}> {
  const received = await service.ask(
    'the cancellation',
    () => service.api.POST('/jobs/{job_id}/cancel', { params: { path: pathOf(jobId) } }),
    // The run has ended, perhaps by the first attempt.
    { doneStatus: 409 },
  );
  const job = received ? checkedBody(aJob, received) : await getJob(service, jobId);
  if (job.status === 'running') {
    const ended = await followJob(service, jobId, view);
    return { job: ended, cancelled: ended.status === 'failed' ? 'in progress' : null };
  }
  let last = await lastRun(service, jobId);
  // A revert, which the job does not show.
  for (; last?.status === 'running'; last = await lastRun(service, jobId)) await service.pause(pollSeconds);
  if (last?.status === 'cancelled') return { job, cancelled: 'before its start' };
  if (!received && isWaiting(job))
    throw new Failure(exitCodes.refused, printable(`Job ${jobId} has no run to cancel.`));
  if (last?.status !== 'failed') return { job, cancelled: null };
  return { job, cancelled: last.kind === 'revert' ? 'revert in progress' : 'in progress' };
}

async function lastRun(service: Service, jobId: string) {
  const { items } = await service.askFor('the request for runs', list, () =>
    service.api.GET('/jobs/{job_id}/runs', { params: { path: pathOf(jobId), query: { limit: 1 } } }),
  );
  return items[0];
}

/** Gets the first issues of the last run, in the order of the file. @throws Failure */
export async function firstIssues({ service }: Session, jobId: string, limit: number): Promise<RowIssue[]> {
  if (limit === 0) return [];
  const { items } = await service.askFor('the request for issues', list, () =>
    service.api.GET('/jobs/{job_id}/issues', { params: { path: pathOf(jobId), query: { limit } } }),
  );
  return items;
}

async function getJob(service: Service, jobId: string): Promise<JobResource> {
  return checkedBody(aJob, (await askForJob(service, jobId))!);
}

const askForJob = (service: Service, jobId: string, headers?: Record<string, string>) =>
  service.ask('the request for the job', () =>
    service.api.GET('/jobs/{job_id}', { params: { path: pathOf(jobId) }, headers }),
  );

const isWaiting = ({ status }: JobResource) => status === 'queued';
/** A job is also `queued` while its first run waits in the queue: then with `queued_at`. */
const isUnrequested = (job: JobResource) => isWaiting(job) && job.queued_at === undefined;
const hasEnded = ({ status }: JobResource) => status !== 'queued' && status !== 'running';

function showJob(job: JobResource, view: ProgressView): void {
  const { status, message, progress } = job;
  if (status === 'queued') view.show({ name: 'waiting', detail: message && printable(message) });
  else if (!progress) view.show({ name: 'running' });
  else {
    const { phase, rows, bytes_read, bytes_total } = progress;
    view.show({
      name: printable(phase),
      // The total of other phases is unknown.
      ...(phase === 'reading' && { bytes: { done: bytes_read, total: bytes_total } }),
      detail: `${countText(rows)} rows`,
    });
  }
}
