import type { ReactNode } from 'react';
import { Link, Redirect } from 'wouter';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { useFeed } from '../data/queries';
import { fileSize } from '../locale';
import { Download } from '../parts/download';
import { PageView } from '../parts/page';
import { Query } from '../parts/query';
import { Status } from '../parts/summary';
import { Tabs } from '../parts/tabs';
import { Time } from '../parts/time';
import { Value } from '../parts/value';
import { addressOf } from '../routes';
import { texts } from '../texts';
import { IssuesView } from './issues';
import { PlanView } from './plan';
import { RunChangesView } from './run-changes';
import { RunView } from './run';
import { RunsView } from './runs';

const steps = ['plan', 'run', 'issues', 'runs'] as const;

interface Options {
  feedId: string;
  step?: string;
  run?: string;
}

/** A feed, with the step that the address names. */
export function FeedView({ feedId, step, run }: Options) {
  const feed = useFeed(feedId);
  if (!step) return <Redirect to={addressOf('feed', { feed: feedId, step: 'run' })} replace />;
  const { data } = feed;
  const trail = [{ text: texts.nav.feeds, href: addressOf('feeds', {}) }];
  if (data)
    trail.push({ text: data.partner_name, href: addressOf('partner', { partner: data.partner_name }) });
  return (
    <PageView
      title={data?.file_name ?? `${texts.feeds.feed} ${feedId}`}
      trail={trail}
      lead={data && <Facts feed={data} />}
      actions={data && !data.raw_file_removed_at && <FileDownload feed={data} />}
    >
      <Query of={feed}>
        {(feed) => (
          <>
            <Tabs
              label={texts.feed.steps}
              tabs={steps.map((name) => ({
                text: texts.feed[name],
                href: addressOf('feed', { feed: feedId, step: name }),
                isCurrent: name === step,
              }))}
            />
            {step === 'plan' && <PlanView feed={feed} />}
            {step === 'run' && <RunView feed={feed} />}
            {step === 'issues' && <IssuesView feed={feed} />}
            {step === 'runs' && run === undefined && <RunsView feed={feed} />}
            {step === 'runs' && run !== undefined && <RunChangesView feed={feed} run={Number(run)} />}
          </>
        )}
      </Query>
    </PageView>
  );
}

/** What a person knows a feed by, and its number. */
function Facts({ feed }: { feed: Schemas['Feed'] }) {
  const { feed_id, partner_name, uploaded_at, status, format_name, mode, collection, size_bytes } = feed;
  const facts: [name: string, fact: ReactNode][] = [
    ['mode', texts.feed.modes[mode]],
    [
      'uploaded',
      <>
        {texts.feed.uploaded} <Time at={uploaded_at} />
      </>,
    ],
    ['size', fileSize(size_bytes)],
    ['number', <span className="small">{feed_id}</span>],
  ];
  if (format_name)
    facts.splice(1, 0, [
      'format',
      <>
        {texts.feed.format}{' '}
        <Link href={addressOf('format', { partner: partner_name, format: format_name })}>
          <Value>{format_name}</Value>
        </Link>
      </>,
    ]);
  if (collection && collection !== 'main')
    facts.splice(1, 0, [
      'collection',
      <>
        {texts.feed.collection} <Value>{collection}</Value>
      </>,
    ]);
  return (
    <ul className="line-of-facts">
      <li>
        <Status status={status} isUndone={feed.reverted_by !== undefined} />
      </li>
      {facts.map(([name, fact]) => (
        <li key={name}>{fact}</li>
      ))}
    </ul>
  );
}

function FileDownload({ feed: { feed_id, file_name } }: { feed: Schemas['Feed'] }) {
  const fetchFile = () =>
    bodyOf<Blob>(client.GET('/feeds/{feed_id}/raw', { params: { path: { feed_id } }, parseAs: 'blob' }));
  return (
    <Download name={file_name} fetchFile={fetchFile}>
      {texts.feed.raw}
    </Download>
  );
}
