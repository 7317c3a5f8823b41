import type { paths } from '../../../../generated/openapi';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { bodyOf, client, RequestError } from '../api';
import { keepScope, keptScope, refuseKey } from '../session';

/** Cursor of the next page of a list. */
interface Page {
  next_cursor?: string;
}

/**
 * Reads a list by its cursors.
 * @param fetchPage - fetches the page at the cursor, the first without one
 * @param everyMilliseconds - interval of reading the pages again while the tab is visible; absent or false: never
 */
export function usePages<P extends Page>(
  key: unknown[],
  fetchPage: (cursor: string | undefined) => Promise<P>,
  isEnabled = true,
  everyMilliseconds?: (pages: P[]) => number | false,
) {
  return useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam }) => fetchPage(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor,
    enabled: isEnabled,
    refetchInterval: ({ state }) => everyMilliseconds?.(state.data?.pages ?? []) ?? false,
  });
}

/** Reads all items of a list by its cursors: a page can end before its limit. */
export async function allItems<Item>(
  fetchPage: (cursor: string | undefined) => Promise<Page & { items: Item[] }>,
): Promise<Item[]> {
  const items: Item[] = [];
  let cursor: string | undefined;
  do {
    const page = await fetchPage(cursor);
    items.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== undefined);
  return items;
}

export const useFeed = (feedId: string) =>
  useQuery({
    queryKey: ['feed', feedId],
    queryFn: () => bodyOf(client.GET('/feeds/{feed_id}', { params: { path: { feed_id: feedId } } })),
  });

export const fetchJob = (jobId: string) =>
  bodyOf(client.GET('/jobs/{job_id}', { params: { path: { job_id: jobId } } }));

/** Follows the job: asks each second while it is queued or running. */
export const useJob = (jobId: string) =>
  useQuery({
    queryKey: ['job', jobId],
    queryFn: () => fetchJob(jobId),
    refetchInterval: ({ state }) =>
      state.data && ['completed', 'failed'].includes(state.data.status) ? false : 1_000,
  });

/** Returns a function for what to do about a reason of row issues, from the document; undefined until it is known. */
export function useRemedies(): (code: string) => string | undefined {
  const { data } = useQuery({
    queryKey: ['profile'],
    queryFn: () => bodyOf(client.GET('/feeds/profile')),
    staleTime: Infinity,
  });
  return (code) => data?.issue_codes.find((known) => known.code === code)?.remedy;
}

/**
 * Asks whether a key sees all partners: the service refuses the queue to a key of one partner.
 * @param key - absent: the key of the session
 * @throws RequestError for any other refusal: 401 for a text that no header can contain, and that is therefore no key
 */
export async function askScope(key?: string): Promise<boolean> {
  if (key && /[^\x20-\xff]/.test(key)) {
    refuseKey();
    throw new RequestError(401, null, null, null);
  }
  const params = { query: { limit: 1 } };
  const sent = client.GET('/queue', { params, headers: key ? { 'x-api-key': key } : {} });
  return bodyOf(sent).then(
    () => true,
    (error: unknown) => {
      if (error instanceof RequestError && error.status === 403) return false;
      throw error;
    },
  );
}

/** Whether the key sees all partners, or undefined; asked once per session. */
export const useSeesAllPartners = () =>
  useQuery({
    queryKey: ['sees-all-partners'],
    queryFn: async () => {
      const seesAll = await askScope();
      keepScope(seesAll);
      return seesAll;
    },
    initialData: keptScope,
    staleTime: Infinity,
  }).data ?? false;

type FeedsQuery = NonNullable<paths['/feeds']['get']['parameters']['query']>;

export const useFeeds = (query: Omit<FeedsQuery, 'cursor'>) =>
  usePages(['feeds', query], (cursor) =>
    bodyOf(client.GET('/feeds', { params: { query: { ...query, cursor } } })),
  );

type PartnersQuery = NonNullable<paths['/partners']['get']['parameters']['query']>;

export const usePartners = (query: Pick<PartnersQuery, 'q' | 'attention' | 'sort_by' | 'limit'>) =>
  usePages(['partners', query], (cursor) =>
    bodyOf(client.GET('/partners', { params: { query: { ...query, cursor } } })),
  );

/** The only partner that the key sees; empty with several or none; undefined until it is known. */
export function useOnlyPartner(): string | undefined {
  const [first] = usePartners({}).data?.pages ?? [];
  if (!first) return undefined;
  return first.items.length === 1 ? first.items[0]!.partner_name : '';
}
