import type { Job } from './jobs.service';

export const jobEventTimes = {
  /** Maximum duration. The client then reconnects, and its key is checked again. */
  streamMilliseconds: 60_000,

  /** Heartbeat interval: proxies close a connection that is idle for a minute. */
  heartbeatMilliseconds: 15_000,

  /** Reconnection delay of the client. */
  retryMilliseconds: 2_000,
};

/** Representation of a job, with its entity tag. */
export interface JobState {
  job: Job;
  text: string;
  tag: string;
}

/**
 * Streams the changes of a job as server-sent events (HTML, section 9.2). Ends after one minute, or when it has no run.
 * @param states - follows the job until `isOver`
 * @param lastTag - entity tag of the client's last state
 */
export async function* jobEvents(
  states: (isOver: () => boolean) => AsyncIterable<JobState>,
  lastTag: string | undefined,
  isAborted: () => boolean,
): AsyncGenerator<string> {
  yield `retry: ${jobEventTimes.retryMilliseconds}\n\n`;
  const end = performance.now() + jobEventTimes.streamMilliseconds;
  let sentTag = lastTag;
  while (performance.now() < end && !isAborted()) {
    const heartbeatAt = Math.min(performance.now() + jobEventTimes.heartbeatMilliseconds, end);
    for await (const { job, text, tag } of states(() => performance.now() >= heartbeatAt || isAborted())) {
      if (tag !== sentTag) yield `id: ${tag}\nevent: job\ndata: ${text}\n\n`;
      sentTag = tag;
      if (!job.hasRun) return;
    }
    yield ':\n\n';
  }
}
