import type { components } from '../../generated/openapi';
import type { ServiceResponse } from './exchange';
import { exitCodes, Failure } from './failures';
import { countText, printable } from './printable';
import type { ProgressView } from './progress-view';
import { notOurs, type Service } from './service';
import type { Session } from './session';

export type Job = components['schemas']['Job'];
export type RowIssue = components['schemas']['RowIssue'];

/** How long the service may hold a response back until the job changes; it takes 60 at most. */
const waitSeconds = 30;
/** Between two questions to a service that does not do so. */
const pollSeconds = 1;
/** The stream of a job's changes ends at once where there is no run; one that lasts longer has one. */
const eventsSeconds = 5;

const pathOf = (jobId: string) => `/jobs/${encodeURIComponent(jobId)}`;

/** Queues a run of the job, or joins the one in progress, and follows it to its end. @throws Failure */
export async function runJob({ service, view }: Session, jobId: string): Promise<Job> {
  const response = await service.ask('the run', {
    method: 'POST',
    path: `${pathOf(jobId)}/run`,
    // A small feed has ended by then: one response instead of three.
    headers: { prefer: 'respond-async, wait=1' },
    // A run that was begun must not be done twice: its counters would be those of the second one.
    isStillWanted: async () => isWaiting(await getJob(service, jobId)),
    // It has begun since it was looked at.
    overStatus: 409,
  });
  const job = response && jobOf(response);
  return job && hasEnded(job) ? job : followJob(service, jobId, view);
}

/** Follows a run to its end, or tells how the last one has ended. @throws Failure, also when no run was asked for */
export async function followRun({ service, view }: Session, jobId: string): Promise<Job> {
  if (await isLeftAlone(service, jobId)) {
    throw new Failure(exitCodes.refused, printable(`No run of job ${jobId} was asked for.`));
  }
  return followJob(service, jobId, view);
}

/** Whether no run of the job was asked for. Looked at twice: streams end too when a service stops. */
async function isLeftAlone(service: Service, jobId: string): Promise<boolean> {
  const look = async () =>
    isWaiting(await getJob(service, jobId)) &&
    (await service.endsWithin(eventsSeconds, `${pathOf(jobId)}/events`));
  if (!(await look())) return false;
  await service.pause(pollSeconds);
  return look();
}

/** Shows the progress of the job until its run has ended. @returns it then. @throws Failure */
async function followJob(service: Service, jobId: string, view: ProgressView): Promise<Job> {
  let etag: string | undefined;
  for (;;) {
    const headers = etag === undefined ? undefined : { prefer: `wait=${waitSeconds}`, 'if-none-match': etag };
    const response = (await askForJob(service, jobId, headers))!;
    if (response.status !== 304) {
      const job = jobOf(response);
      if (hasEnded(job)) return job;
      showJob(job, view);
    }
    // Before the first wait there is nothing to wait for; a service with too many who wait does not hold this one.
    if (etag !== undefined && !response.headers['preference-applied']) await service.pause(pollSeconds);
    etag = response.headers.etag ?? '"none"';
  }
}

/** Cancels the run and waits for its end. @throws Failure, also when there is no run */
export async function cancelJob({ service, view }: Session, jobId: string): Promise<Job> {
  const response = await service.ask('the cancellation', {
    method: 'POST',
    path: `${pathOf(jobId)}/cancel`,
    // There is no run any more, perhaps by the first attempt.
    overStatus: 409,
  });
  const job = response ? jobOf(response) : await getJob(service, jobId);
  if (!response && isWaiting(job))
    throw new Failure(exitCodes.refused, printable(`Job ${jobId} has no run to cancel.`));
  return hasEnded(job) ? job : followJob(service, jobId, view);
}

/** The first issues of the last run, in the order of the file. @throws Failure */
export async function firstIssues({ service }: Session, jobId: string, limit: number): Promise<RowIssue[]> {
  if (limit === 0) return [];
  const parameters = { path: { job_id: jobId }, query: { limit } };
  return (await service.getList('the request for issues', '/jobs/{job_id}/issues', parameters)).items;
}

async function getJob(service: Service, jobId: string): Promise<Job> {
  return jobOf((await askForJob(service, jobId))!);
}

function askForJob(service: Service, jobId: string, headers?: Record<string, string>) {
  return service.ask('the request for the job', { method: 'GET', path: pathOf(jobId), headers });
}

/** @throws Failure when it is no job: something else than the service has answered */
function jobOf({ body }: ServiceResponse): Job {
  const job = body as Job | undefined;
  if (typeof job?.status === 'string' && Array.isArray(job.issue_counts)) return job;
  throw notOurs('job');
}

const isWaiting = ({ status }: Job) => status === 'queued';
const hasEnded = ({ status }: Job) => status !== 'queued' && status !== 'running';

function showJob(job: Job, view: ProgressView): void {
  const { status, message, progress } = job;
  if (status === 'queued') view.show({ name: 'waiting', detail: message && printable(message) });
  else if (!progress) view.show({ name: 'running' });
  else {
    const { phase, rows, bytes_read, bytes_total } = progress;
    view.show({
      name: printable(phase),
      // Only this phase has a known size.
      ...(phase === 'reading' && { bytes: { done: bytes_read, total: bytes_total } }),
      detail: `${countText(rows)} rows`,
    });
  }
}
