import { Link } from 'wouter';
import type { Schemas } from '../api';
import { fetchReasonOf } from '../data/reasons';
import { requesterOf } from '../data/runs';
import { useFetches, type SourcePath } from '../data/sources';
import { count, time } from '../locale';
import { Card } from '../parts/page';
import { List } from '../parts/query';
import { DataTable } from '../parts/table';
import { Time } from '../parts/time';
import { Value } from '../parts/value';
import { addressOf } from '../routes';
import { texts } from '../texts';

type Fetch = Schemas['SourceFetch'];

export function FetchStatusBadge({ fetch }: { fetch: Fetch }) {
  const kinds: Record<Fetch['status'], string> = {
    queued: fetch.attempts > 0 ? 'watch' : '',
    running: 'update',
    completed: 'good',
    unchanged: 'good',
    failed: 'bad',
    skipped: 'watch',
  };
  return <span className={`badge ${kinds[fetch.status]}`}>{texts.fetches.statuses[fetch.status]}</span>;
}

/** The outcome of a fetch in a sentence, and the service's reason of a failed attempt. */
export function FetchOutcomeText({ fetch }: { fetch: Fetch }) {
  const { status, attempts, next_attempt_at, failure_reason } = fetch;
  const isRetried = status === 'queued' && attempts > 0;
  return (
    <>
      <p>
        {isRetried ? texts.fetches.retried(attempts, time(next_attempt_at)) : texts.fetches.outcomes[status]}
      </p>
      {failure_reason && (
        <p>
          <Value>{fetchReasonOf(failure_reason)}</Value>
        </p>
      )}
    </>
  );
}

/** Every fetch of a source, newest first. */
export function FetchHistory({ path, last }: { path: SourcePath; last: Fetch | null | undefined }) {
  const list = useFetches(path, last);
  const { title, when, why, outcome, attempts, feed, none } = texts.fetches;
  return (
    <Card title={title}>
      <List of={list} empty={<p className="muted">{none}</p>}>
        {(fetches) => (
          <DataTable
            label={title}
            rows={fetches}
            keyOf={(fetch) => fetch.fetch}
            columns={[
              {
                title: when,
                kind: 'name',
                cell: (fetch) => <Time at={fetch.finished_at ?? fetch.started_at ?? fetch.requested_at} />,
              },
              { title: outcome, cell: OutcomeCell },
              { title: feed, cell: FeedLinks },
              { title: why, cell: Requester },
              { title: attempts, kind: 'number', cell: (fetch) => count(fetch.attempts) },
            ]}
          />
        )}
      </List>
    </Card>
  );
}

const OutcomeCell = (fetch: Fetch) => (
  <>
    <FetchStatusBadge fetch={fetch} />
    <div className="muted small">
      <FetchOutcomeText fetch={fetch} />
    </div>
  </>
);

const FeedLinks = ({ feed_id: feed }: Fetch) =>
  feed && (
    <>
      <Link href={addressOf('feed', { feed, step: 'run' })}>{texts.fetches.toFeed}</Link>
      <div>
        <Link href={addressOf('feed', { feed, step: 'runs' })}>{texts.fetches.toRuns}</Link>
      </div>
    </>
  );

const Requester = ({ slot_at, requested_by }: Fetch) =>
  slot_at ? (
    texts.fetches.scheduled
  ) : (
    <>
      {texts.fetches.requested}
      <div className="muted small">
        <Value>{requesterOf(requested_by)}</Value>
      </div>
    </>
  );
