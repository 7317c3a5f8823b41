import type { components } from '../../../generated/openapi';
import type { ServiceResponse } from './exchange';
import { exitCodes, Failure } from './failures';
import { countText, printable } from './printable';
import type { ProgressView } from './progress-view';
import { queryText } from './requests';
import { unexpectedResponse, type Service } from './service';
import type { Session } from './session';

export type JobResource = components['schemas']['Job'];
type RowIssue = components['schemas']['RowIssue'];

/** Long poll for a change of the job; the service allows 60. */
const waitSeconds = 30;
/** Polling interval while the service supports no long poll. */
const pollSeconds = 1;
/** An event stream that stays open this long belongs to a run: without a run it ends at once. */
const eventsSeconds = 5;

const pathOf = (jobId: string) => `/jobs/${encodeURIComponent(jobId)}`;

/** Starts a run, or joins the one in progress, and follows it to its end. @throws Failure */
export async function runAndFollow(
  { service, view }: Session,
  jobId: string,
  permissions: { max_withdrawn?: number; allow_older?: boolean },
): Promise<JobResource> {
  const response = await service.ask('the run', {
    method: 'POST',
    path: `${pathOf(jobId)}/run${queryText(permissions)}`,
    // A small feed takes less: one request instead of three.
    headers: { prefer: 'respond-async, wait=1' },
    // A second run would replace the counters of the first one.
    isStillNeeded: async () => isWaiting(await getJob(service, jobId)),
    // The run has started since.
    doneStatus: 409,
  });
  if (!response) return followJobRun({ service, view }, jobId);
  const job = jobOf(response);
  return hasEnded(job) ? job : followJob(service, jobId, view, job.queued_at);
}

/** Follows a run to its end, or returns the ended job. @throws Failure, also when no run was requested */
export async function followJobRun(
  { service, view }: Pick<Session, 'service' | 'view'>,
  jobId: string,
): Promise<JobResource> {
  if (await hasNoRun(service, jobId)) {
    throw new Failure(exitCodes.refused, printable(`No run of job ${jobId} was requested.`));
  }
  return followJob(service, jobId, view);
}

/** Tells whether no run was requested. Checks twice: streams also end when a service shuts down. */
async function hasNoRun(service: Service, jobId: string): Promise<boolean> {
  const check = async () =>
    isWaiting(await getJob(service, jobId)) &&
    (await service.endsWithin(eventsSeconds, `${pathOf(jobId)}/events`));
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
    const response = (await askForJob(service, jobId, headers))!;
    if (response.status !== 304) {
      const job = jobOf(response);
      if (queuedAt !== undefined && isCancelled(job, queuedAt)) {
        throw new Failure(exitCodes.refused, cancelledText(jobId));
      }
      if (hasEnded(job)) return job;
      queuedAt = job.queued_at;
      showJob(job, view);
    }
    // An overloaded service responds at once.
    if (etag !== undefined && !response.headers['preference-applied']) await service.pause(pollSeconds);
    etag = response.headers.etag ?? '"none"';
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
  const response = await service.ask('the cancellation', {
    method: 'POST',
    path: `${pathOf(jobId)}/cancel`,
    // The run has ended, perhaps by the first attempt.
    doneStatus: 409,
  });
  const job = response ? jobOf(response) : await getJob(service, jobId);
  if (job.status === 'running') {
    const ended = await followJob(service, jobId, view);
    return { job: ended, cancelled: ended.status === 'failed' ? 'in progress' : null };
  }
  let last = await lastRun(service, jobId);
  // A revert, which the job does not show.
  for (; last?.status === 'running'; last = await lastRun(service, jobId)) await service.pause(pollSeconds);
  if (last?.status === 'cancelled') return { job, cancelled: 'before its start' };
  if (!response && isWaiting(job))
    throw new Failure(exitCodes.refused, printable(`Job ${jobId} has no run to cancel.`));
  if (last?.status !== 'failed') return { job, cancelled: null };
  return { job, cancelled: last.kind === 'revert' ? 'revert in progress' : 'in progress' };
}

async function lastRun(service: Service, jobId: string) {
  const { items } = await service.getList('the request for runs', '/jobs/{job_id}/runs', {
    path: { job_id: jobId },
    query: { limit: 1 },
  });
  return items[0];
}

/** Gets the first issues of the last run, in the order of the file. @throws Failure */
export async function firstIssues({ service }: Session, jobId: string, limit: number): Promise<RowIssue[]> {
  if (limit === 0) return [];
  const parameters = { path: { job_id: jobId }, query: { limit } };
  return (await service.getList('the request for issues', '/jobs/{job_id}/issues', parameters)).items;
}

async function getJob(service: Service, jobId: string): Promise<JobResource> {
  return jobOf((await askForJob(service, jobId))!);
}

function askForJob(service: Service, jobId: string, headers?: Record<string, string>) {
  return service.ask('the request for the job', { method: 'GET', path: pathOf(jobId), headers });
}

function jobOf({ body }: ServiceResponse): JobResource {
  const job = body as JobResource | undefined;
  if (typeof job?.status === 'string' && Array.isArray(job.issue_counts)) return job;
  throw unexpectedResponse('a job');
}

const isWaiting = ({ status }: JobResource) => status === 'queued';
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
