import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { texts } from '../texts';

type Feed = Schemas['Feed'];
type Run = Schemas['Run'];

/** Fetches the last 100 runs of a job, the newest first. @throws as `bodyOf` */
export async function fetchRuns(jobId: string): Promise<Run[]> {
  const params = { path: { job_id: jobId }, query: { limit: 100 } };
  return (await bodyOf(client.GET('/jobs/{job_id}/runs', { params }))).items;
}

/** Returns the number of the last load among these runs, except cancelled ones; undefined without one. */
export const lastLoadOf = (runs: Run[]): number | undefined =>
  runs.find(({ kind, status }) => kind === 'load' && status !== 'cancelled')?.run;

/** Returns the counts of a run, with each product in one of them: the service also counts restored ones as updated. */
export const countsOf = (summary: Schemas['RunSummary']): Schemas['RunSummary'] => ({
  ...summary,
  updated: summary.updated - summary.restored,
});

/** Returns who requested a run, in words: keys of the settings have no name of their own. @param key - its name, or null */
export const requesterOf = (key: string | null): string => texts.runs.requesters[key ?? ''] ?? key ?? '';

/** The number of the last load of a feed, whose rows are the rejects; 0 if none is known. */
export const useLastLoad = ({ validation_job_id: jobId }: Feed) =>
  useQuery({ queryKey: ['last-load', jobId], queryFn: () => fetchLastLoad(jobId) });

/** Fetches the number of the last load of a job; 0 if none is known. @throws as `bodyOf` */
export async function fetchLastLoad(jobId: string): Promise<number> {
  return lastLoadOf(await fetchRuns(jobId)) ?? 0;
}

/** The newest feed of the partner that was uploaded after this one, and is loaded. */
export const useNewerFeed = (feed: Feed) =>
  useQuery({ queryKey: ['newer-feed', feed.feed_id], queryFn: () => fetchNewerFeed(feed) }).data;

/** Fetches the number of that feed, of the 100 newest; null without one. @throws as `bodyOf` */
export async function fetchNewerFeed({ partner_name, uploaded_at }: Feed): Promise<string | null> {
  const query = { partner_name, uploaded_from: uploaded_at, limit: 100 };
  const { items } = await bodyOf(client.GET('/feeds', { params: { query } }));
  for (const later of items)
    if (later.uploaded_at > uploaded_at && (await isLoaded(later))) return later.feed_id;
  return null;
}

/** Whether products have the values of a feed: an earlier run can be loaded although the last one is queued, has failed or was undone. */
async function isLoaded({
  status,
  reverted_by,
  validation_job_id: jobId,
}: Schemas['ListedFeed']): Promise<boolean> {
  if (status === 'processed' && !reverted_by) return true;
  return (await fetchRuns(jobId)).some(
    (run) => run.kind === 'load' && run.status === 'completed' && !run.reverted_by,
  );
}
