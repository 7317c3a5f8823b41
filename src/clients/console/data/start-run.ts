import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Schemas } from '../api';
import { fetchJob } from './queries';
import { fetchNewerFeed } from './runs';
import { requestJobRun, type RunOptions } from './upload';

/** Reasons to confirm a run, which would replace newer values. */
export interface Past {
  /** Whether the feed was run before. */
  hasRun: boolean;
  /** A feed of the partner that was uploaded later, and is loaded; else null. */
  newer: string | null;
}

const isSame = (one: Past, other: Past) => one.hasRun === other.hasRun && one.newer === other.newer;

interface Options {
  permissions?: RunOptions;
  /** Whether to always ask for confirmation. */
  isQuestion?: boolean;
  /** Asks for confirmation. @param isNews - whether the view has shown another state */
  onQuestion: (past: Past, isNews: boolean) => void | Promise<void>;
  onQueued: (job: Schemas['Job']) => void | Promise<void>;
  onError?: () => void;
}

/**
 * Starts runs of a feed. The state when the button is pressed decides, not the state that the view has shown for a while.
 * @returns the known state of the feed, and the handler of the button; it takes the confirmed state, and asks again if that has changed
 */
export function useStartRun(
  feed: Schemas['Feed'],
  { permissions, isQuestion = false, onQuestion, onQueued, onError }: Options,
) {
  const queries = useQueryClient();
  const { feed_id: feedId, validation_job_id: jobId, validation_status: status } = feed;
  const query = {
    queryKey: ['past', feedId],
    queryFn: async (): Promise<Past> => {
      const [job, newer] = await Promise.all([fetchJob(jobId), fetchNewerFeed(feed)]);
      return { hasRun: job.status !== 'queued', newer };
    },
  };
  const shown = useQuery({
    ...query,
    initialData: { hasRun: status !== 'queued', newer: null },
    initialDataUpdatedAt: 0,
  }).data;
  const start = useMutation({
    mutationFn: async (answered?: Past) => {
      const past = await queries.query({ ...query, staleTime: 0 });
      const mustAsk = isQuestion || past.hasRun || past.newer !== null;
      if (!mustAsk || (answered && isSame(past, answered))) return requestJobRun(jobId, permissions);
      await onQuestion(past, !isSame(past, shown));
      return undefined;
    },
    onSuccess: (job) => job && onQueued(job),
    onError,
  });
  // A disabled button would lose the focus, which a dialog returns to it.
  const press = (answered?: Past) => {
    if (!start.isPending) start.mutate(answered);
  };
  return { past: shown, error: start.error, press };
}
