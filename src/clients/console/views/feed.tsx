import { Link, Redirect } from 'wouter';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { useFeed } from '../data/queries';
import { time } from '../locale';
import { Download } from '../parts/download';
import { FailureNotice } from '../parts/failure';
import { Loading, PageView } from '../parts/page';
import { Status } from '../parts/summary';
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
  if (!step) return <Redirect to={addressOf('feed', { feed: feedId, step: 'run' })} />;
  return (
    <PageView title={`${texts.feeds.feed} ${feedId}`}>
      {feed.error && <FailureNotice error={feed.error} retry={() => void feed.refetch()} />}
      {feed.isPending && <Loading />}
      {feed.data && (
        <>
          <Head feed={feed.data} />
          <nav className="tabs" aria-label={texts.feed.steps}>
            {steps.map((name) => (
              <Link
                key={name}
                href={addressOf('feed', { feed: feedId, step: name })}
                aria-current={name === step ? 'page' : undefined}
              >
                {texts.feed[name]}
              </Link>
            ))}
          </nav>
          {step === 'plan' && <PlanView feed={feed.data} />}
          {step === 'run' && <RunView feed={feed.data} />}
          {step === 'issues' && <IssuesView feed={feed.data} />}
          {step === 'runs' && run === undefined && <RunsView feed={feed.data} />}
          {step === 'runs' && run !== undefined && <RunChangesView feed={feed.data} run={Number(run)} />}
        </>
      )}
    </PageView>
  );
}

function Head({ feed }: { feed: Schemas['Feed'] }) {
  const { feed_id, partner_name, file_name, uploaded_at, status, format_name, mode } = feed;
  const fetchRaw = () =>
    bodyOf<Blob>(client.GET('/feeds/{feed_id}/raw', { params: { path: { feed_id } }, parseAs: 'blob' }));
  return (
    <div className="feed-head">
      <Status status={status} isUndone={feed.reverted_by !== undefined} />
      <Link href={addressOf('partner', { partner: partner_name })}>
        <Value>{partner_name}</Value>
      </Link>
      <Value>{file_name}</Value>
      <span className="muted">
        {time(uploaded_at)} · {mode}
        {format_name && ` · ${format_name}`}
      </span>
      {!feed.raw_file_removed_at && (
        <Download name={file_name} fetchFile={fetchRaw}>
          {texts.feed.raw}
        </Download>
      )}
    </div>
  );
}
