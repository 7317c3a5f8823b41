import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Schemas } from '../api';
import { useFeeds } from '../data/queries';
import { count, percent } from '../locale';
import { addressOf, routes } from '../routes';
import { texts } from '../texts';
import { Empty } from './empty';
import { List } from './query';
import { Status } from './summary';
import { DataTable, type DataColumn } from './table';
import { Time } from './time';
import { Value } from './value';

type ListedFeed = Schemas['ListedFeed'];

interface Options {
  /** Absent: all partners. */
  partner?: string;
  /** Whether the view is about one partner, whose name is its title. */
  isOfPartner?: boolean;
  query?: Omit<Parameters<typeof useFeeds>[0], 'partner_name' | 'limit'>;
  limit?: number;
  /** Instead of an empty list; absent: what a feed is. */
  empty?: ReactNode;
}

/** Feeds, newest first, with the rows that were loaded and skipped. */
export function FeedList({ partner, isOfPartner = false, query, limit, empty }: Options) {
  const list = useFeeds({ ...query, partner_name: partner || undefined, limit });
  return (
    <List of={list} empty={empty ?? <NoFeed partner={partner} />}>
      {(feeds) => (
        <DataTable
          label={texts.feeds.title}
          columns={columns.filter(({ title }) => !isOfPartner || title !== texts.feeds.partner)}
          rows={feeds}
          keyOf={({ feed_id }) => feed_id}
        />
      )}
    </List>
  );
}

/** What a feed is, and where one is sent. */
export const NoFeed = ({ partner }: Pick<Options, 'partner'>) => (
  <Empty
    title={texts.feeds.noneYet}
    lead={texts.feeds.noneYetLead}
    action={
      <Link className="button primary" href={partner ? addressOf('send', { partner }) : routes.send}>
        {texts.nav.send}
      </Link>
    }
  />
);

const columns: DataColumn<ListedFeed>[] = [
  {
    title: texts.feeds.file,
    kind: 'name',
    cell: ({ feed_id, file_name, status }) => (
      <>
        <Link href={addressOf('feed', { feed: feed_id, step: status === 'processing' ? 'plan' : 'run' })}>
          <Value>{file_name}</Value>
        </Link>
        <div className="muted small">{feed_id}</div>
      </>
    ),
  },
  {
    title: texts.feeds.partner,
    cell: ({ partner_name: partner }) => (
      <Link href={addressOf('partner', { partner })}>
        <Value>{partner}</Value>
      </Link>
    ),
  },
  {
    title: texts.feeds.status,
    kind: 'tight',
    cell: ({ status, reverted_by }) => <Status status={status} isUndone={reverted_by !== undefined} />,
  },
  {
    title: texts.counts.processed!,
    kind: 'number',
    cell: ({ summary }) => summary && count(summary.processed),
  },
  {
    title: texts.counts.skipped!,
    kind: 'number',
    cell: ({ summary }) => summary && <Skipped {...summary} />,
  },
  { title: texts.feeds.uploaded, kind: 'tight', cell: ({ uploaded_at }) => <Time at={uploaded_at} /> },
];

/** Skipped rows, with their share of all rows if there are any. */
function Skipped({ skipped, processed }: Schemas['RunSummary']) {
  if (skipped === 0) return count(0);
  return (
    <>
      {count(skipped)} <span className="muted small">({percent(skipped / processed)})</span>
    </>
  );
}
