import type { Job } from './jobs.service';

/** Maximum duration of an event stream; its client reconnects, which checks its key again. */
export const jobEventsMilliseconds = 60_000;

/** Heartbeat interval: proxies close a connection that is idle for a minute. */
export const jobEventsHeartbeatMilliseconds = 15_000;

/** Reconnection delay of the client. */
const jobEventsRetryMilliseconds = 2_000;

/** Representation of a job, with its entity tag. */
export interface JobState {
  job: Job;
  text: string;
  tag: string;
}

/**
 * Streams the changes of a job as server-sent events (HTML, section 9.2), for one minute or until it has no run.
 * @param states - follows the job until `isOver`
 * @param lastTag - entity tag of the client's last state
 */
export async function* jobEvents(
  states: (isOver: () => boolean) => AsyncIterable<JobState>,
  lastTag: string | undefined,
  isAborted: () => boolean,
): AsyncGenerator<string> {
  yield `retry: ${jobEventsRetryMilliseconds}\n\n`;
  const end = performance.now() + jobEventsMilliseconds;
  let sentTag = lastTag;
  while (performance.now() < end && !isAborted()) {
    const heartbeatAt = Math.min(performance.now() + jobEventsHeartbeatMilliseconds, end);
    for await (const { job, text, tag } of states(() => performance.now() >= heartbeatAt || isAborted())) {
      if (tag !== sentTag) yield `id: ${tag}\nevent: job\ndata: ${text}\n\n`;
      sentTag = tag;
      if (!job.hasRun) return;
    }
    yield ':\n\n';
  }
}
