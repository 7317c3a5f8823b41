import type { components } from '../../../generated/openapi';
import { showPage, type PageOptions, type QueryOf } from './lists';
import { countText } from './printable';
import { list } from './service';
import type { Work } from './session';
import { textTable } from './table';

type ListedFeed = components['schemas']['ListedFeed'];
type Partner = components['schemas']['Partner'];

/** Lists feeds, the newest first. */
export function showFeeds(
  options: PageOptions & { partner?: string; status?: string; uploadedFrom?: string; uploadedTo?: string },
): Work {
  const { partner: partner_name, uploadedFrom: uploaded_from, uploadedTo: uploaded_to, ...same } = options;
  const query = { partner_name, uploaded_from, uploaded_to, ...same } as QueryOf<'/feeds'>;
  return async (session) => {
    const { service } = session;
    const page = await service.askFor('the request for feeds', list, () =>
      service.api.GET('/feeds', { params: { query } }),
    );
    return showPage(session, 'feeds', page, feedTable);
  };
}

export function showPartners({ name: q, ...page }: PageOptions & { name?: string }): Work {
  const query = { q, ...page };
  return async (session) => {
    const { service } = session;
    const partners = await service.askFor('the request for partners', list, () =>
      service.api.GET('/partners', { params: { query } }),
    );
    return showPage(session, 'partners', partners, partnerTable);
  };
}

function feedTable(feeds: readonly ListedFeed[]): string {
  return textTable(
    [
      ['feed', 12],
      ['uploaded', 24],
      ['partner', 20],
      ['format', 20],
      ['job', 12],
      ['run', 10],
      ['rows', 13],
      ['skipped', 13],
    ],
    'file',
    feeds.map(({ summary, ...feed }) => [
      feed.feed_id,
      feed.uploaded_at,
      feed.partner_name,
      feed.format_name ?? '',
      feed.validation_job_id,
      feed.validation_status,
      summary ? countText(summary.processed) : '',
      summary ? countText(summary.skipped) : '',
      feed.file_name,
    ]),
  );
}

function partnerTable(partners: readonly Partner[]): string {
  return textTable(
    [
      ['partner', 40],
      ['products', 13],
      ['feeds', 13],
      ['last feed', 12],
    ],
    'last completed run',
    partners.map(({ partner_name, products, feeds, last_feed_id, last_completed_at }) => [
      partner_name,
      countText(products),
      countText(feeds),
      last_feed_id ?? '',
      last_completed_at ?? '',
    ]),
  );
}
