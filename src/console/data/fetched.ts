import { useQuery } from '@tanstack/react-query';
import { bodyOf, client, type Schemas } from '../api';
import { formOf } from './upload';

/** An inspection considers no more of a file. */
const inspectedBytes = 262_144;

/** Inspects the stored file of a feed as its format reads it. */
export const useInspectedFeed = (feed: Schemas['Feed']) =>
  useQuery({
    queryKey: ['inspection', feed.feed_id],
    queryFn: async () => {
      const file = await fetchHead(feed);
      const fields = {
        partner_name: feed.partner_name,
        ...(feed.format_name && { format: feed.format_name }),
      };
      const inspection = await bodyOf(
        client.POST('/feeds/inspect', {
          body: { ...fields, file: '' },
          bodySerializer: () => formOf(fields, file),
        }),
      );
      return { file, inspection };
    },
    staleTime: Infinity,
  });

/** Fetches the part of a file that is inspected; a packed one as a whole. One byte more says that there is more. */
async function fetchHead({ feed_id, file_name }: Schemas['Feed']): Promise<File> {
  const header = file_name.endsWith('.gz') ? undefined : { Range: `bytes=0-${inspectedBytes}` };
  const head = await bodyOf(
    client.GET('/feeds/{feed_id}/raw', { params: { path: { feed_id }, header }, parseAs: 'blob' }),
  );
  return new File([head], file_name, { type: 'text/csv' });
}
