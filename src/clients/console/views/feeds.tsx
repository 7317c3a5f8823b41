import { useMemo } from 'react';
import { Link } from 'wouter';
import type { Schemas } from '../api';
import { useFilters } from '../data/address';
import { useFeeds } from '../data/queries';
import { count, time } from '../locale';
import { Chart, type Series } from '../parts/chart';
import { FailureNotice } from '../parts/failure';
import { Choice } from '../parts/field';
import { More } from '../parts/more';
import { Card, Loading, PageView } from '../parts/page';
import { PartnerField } from '../parts/partner-field';
import { Status } from '../parts/summary';
import { ScrollTable } from '../parts/scroll-table';
import { Value } from '../parts/value';
import { addressOf } from '../routes';
import { texts } from '../texts';

type ListedFeed = Schemas['ListedFeed'];

const statuses = ['processing', 'processed', 'failed'] as const;

/** Feeds, newest first, as a chart and a table. */
export function FeedsView() {
  const [read, write] = useFilters();
  const status = statuses.find((known) => known === read('status'));
  return (
    <PageView title={texts.feeds.title}>
      <Card>
        <div className="filters" role="search" aria-label={texts.feeds.filters}>
          <PartnerField
            label={texts.feeds.partner}
            value={read('partner')}
            onChange={(partner) => write({ partner })}
          />
          <Choice
            label={texts.feeds.status}
            value={read('status')}
            options={[['', texts.all], ...statuses.map((name) => [name, texts.statuses[name]!] as const)]}
            onChange={(chosen) => write({ status: chosen })}
          />
        </div>
        <FeedList partner={read('partner')} status={status} />
      </Card>
    </PageView>
  );
}

export function FeedList({ partner, status }: { partner: string; status?: (typeof statuses)[number] }) {
  const list = useFeeds({ partner_name: partner || undefined, status });
  const feeds = useMemo(() => list.data?.pages.flatMap(({ items }) => items) ?? [], [list.data]);
  if (list.isLoadingError) return <FailureNotice error={list.error} retry={() => void list.refetch()} />;
  if (list.isPending) return <Loading />;
  if (feeds.length === 0) return <p className="muted">{texts.feeds.none}</p>;
  return (
    <>
      <FeedChart feeds={feeds} />
      <FeedTable feeds={feeds} label={texts.feeds.title} />
      <More list={list} />
    </>
  );
}

function FeedChart({ feeds }: { feeds: ListedFeed[] }) {
  const { times, series } = useMemo(() => {
    const ran = feeds.filter(({ summary }) => summary).reverse();
    const bars = (
      label: string,
      color: Series['color'],
      of: (summary: Schemas['RunSummary']) => number,
    ): Series => ({
      label,
      color,
      kind: 'steps',
      values: ran.map(({ summary }) => of(summary!)),
    });
    return {
      times: ran.map(({ uploaded_at }) => Date.parse(uploaded_at) / 1000),
      series: [
        bars(texts.feeds.loaded, '--accent', ({ processed, skipped }) => processed - skipped),
        bars(texts.feeds.skipped, '--bad', ({ skipped }) => skipped),
      ],
    };
  }, [feeds]);
  if (times.length < 2) return null;
  return <Chart label={texts.feeds.overTime} times={times} series={series} />;
}

function FeedTable({ feeds, label }: { feeds: ListedFeed[]; label: string }) {
  const { feed, partner, status, uploaded } = texts.feeds;
  const { processed, skipped } = texts.counts;
  return (
    <ScrollTable
      label={label}
      columns={[
        ...[feed, partner, status].map((title) => ({ title })),
        ...[processed, skipped].map((title) => ({ title: title!, isNumber: true })),
        { title: uploaded },
      ]}
    >
      {feeds.map(({ feed_id, partner_name, file_name, status: state, summary, uploaded_at, reverted_by }) => (
        <tr key={feed_id}>
          <th scope="row">
            <Link href={addressOf('feed', { feed: feed_id, step: state === 'processing' ? 'plan' : 'run' })}>
              {feed_id}
            </Link>
            <div className="muted">
              <Value>{file_name}</Value>
            </div>
          </th>
          <td>
            <Link href={addressOf('partner', { partner: partner_name })}>
              <Value>{partner_name}</Value>
            </Link>
          </td>
          <td>
            <Status status={state} isUndone={reverted_by !== undefined} />
          </td>
          <td className="number">{summary ? count(summary.processed) : texts.none}</td>
          <td className="number">{summary ? count(summary.skipped) : texts.none}</td>
          <td>{time(uploaded_at)}</td>
        </tr>
      ))}
    </ScrollTable>
  );
}
