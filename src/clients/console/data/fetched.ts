import { useQuery } from '@tanstack/react-query';
import { bodyOf, client, type Schemas } from '../api';
import { requestInspection, inspectedBytes } from './upload';

/** Inspects the stored file of a feed by its format. */
export const useInspectedFeed = (feed: Schemas['Feed']) =>
  useQuery({
    queryKey: ['inspection', feed.feed_id],
    queryFn: async () => {
      const file = await fetchHead(feed);
      return requestInspection(feed.partner_name, file, {
        format: feed.format_name ?? undefined,
        mode: feed.mode,
      });
    },
    staleTime: Infinity,
  });

/** Fetches the inspected part of a file; a packed file completely. */
async function fetchHead({ feed_id, file_name }: Schemas['Feed']): Promise<File> {
  const header = file_name.endsWith('.gz') ? undefined : { Range: `bytes=0-${inspectedBytes - 1}` };
  const head = await bodyOf(
    client.GET('/feeds/{feed_id}/raw', { params: { path: { feed_id }, header }, parseAs: 'blob' }),
  );
  return new File([head], file_name, { type: 'text/csv' });
}
