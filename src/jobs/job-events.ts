import type { Job } from './jobs.service';

/** After how long a stream of a job's changes ends; its client comes again, with a key that is still in use. */
export const jobEventsMilliseconds = 60_000;

/** How often it says something at least: proxies take a minute of silence for the end. */
export const jobEventsSilenceMilliseconds = 15_000;

/** After how long a client of such a stream comes again. */
const jobEventsRetryMilliseconds = 2_000;

/** A job as it is sent, and the entity tag of that. */
export interface JobState {
  job: Job;
  text: string;
  tag: string;
}

/**
 * The changes of a job as server-sent events (HTML, section 9.2), until it has no run, or for ten minutes.
 * @param states - follows the job until `isOver`
 * @param lastTag - of the state that the client has
 */
export async function* jobEvents(
  states: (isOver: () => boolean) => AsyncIterable<JobState>,
  lastTag: string | undefined,
  isAborted: () => boolean,
): AsyncGenerator<string> {
  yield `retry: ${jobEventsRetryMilliseconds}\n\n`;
  const end = performance.now() + jobEventsMilliseconds;
  let known = lastTag;
  while (performance.now() < end && !isAborted()) {
    const silentUntil = Math.min(performance.now() + jobEventsSilenceMilliseconds, end);
    for await (const { job, text, tag } of states(() => performance.now() >= silentUntil || isAborted())) {
      if (tag !== known) yield `id: ${tag}\nevent: job\ndata: ${text}\n\n`;
      known = tag;
      if (!job.hasRun) return;
    }
    yield ':\n\n';
  }
}
