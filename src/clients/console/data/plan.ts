import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import type { ChangeView } from './changes';
import type { RunOptions } from './upload';

const pageSize = 100;

/**
 * Plans a run of a feed, and lists its changes. A plan of a large file takes long: it is aborted when its view is left.
 * While another part of the same plan is listed, its data are those of the part before.
 */
export function usePlan(jobId: string, permissions: RunOptions, { action, sort }: ChangeView) {
  const queries = useQueryClient();
  const ofPlan = ['plan', jobId, JSON.stringify(permissions)];
  const queryKey = [...ofPlan, action, sort];
  const plan = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam: cursor, signal }) =>
      bodyOf(
        client.POST('/jobs/{job_id}/plan', {
          params: {
            path: { job_id: jobId },
            query: { ...permissions, action, sort_by: sort, limit: pageSize, cursor },
          },
          signal,
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page: Schemas['JobPlan']) => page.next_cursor,
    placeholderData: (before, query) =>
      ofPlan.every((part, at) => query?.queryKey[at] === part) ? before : undefined,
  });
  return { plan, cancel: () => void queries.cancelQueries({ queryKey }) };
}

/** Returns the permissions of a run in the address. Omits malformed ones, and permissions that only complete feeds can have. */
export function permissionsOf({ mode }: Schemas['Feed'], read: (name: string) => string): RunOptions {
  if (mode !== 'replace') return {};
  const withdrawn = read('withdraw');
  return {
    max_withdrawn: /^\d{1,9}$/.test(withdrawn) ? Number(withdrawn) : undefined,
    allow_older: read('older') === 'yes' || undefined,
  };
}
