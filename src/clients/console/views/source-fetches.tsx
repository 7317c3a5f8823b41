import { Link } from 'wouter';
import type { Schemas } from '../api';
import { useFetches, type SourcePath } from '../data/sources';
import { count, time } from '../locale';
import { FailureNotice } from '../parts/failure';
import { More } from '../parts/more';
import { Card, Loading } from '../parts/page';
import { ScrollTable } from '../parts/scroll-table';
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
          <Value>{failure_reason}</Value>
        </p>
      )}
    </>
  );
}

/** Every fetch of a source, newest first. */
export function FetchHistory({ path, last }: { path: SourcePath; last: Fetch | null | undefined }) {
  const list = useFetches(path, last);
  if (list.isLoadingError) return <FailureNotice error={list.error} retry={() => void list.refetch()} />;
  if (!list.data) return <Loading />;
  const fetches = list.data.pages.flatMap(({ items }) => items);
  const { number, why, outcome, http, attempts, feed } = texts.fetches;
  return (
    <Card title={texts.fetches.title}>
      {fetches.length === 0 ? (
        <p className="muted">{texts.fetches.none}</p>
      ) : (
        <ScrollTable
          label={texts.fetches.title}
          columns={[
            ...[number, outcome, feed, why].map((title) => ({ title })),
            ...[http, attempts].map((title) => ({ title, isNumber: true })),
          ]}
        >
          {fetches.map((fetch) => (
            <FetchRow key={fetch.fetch} fetch={fetch} />
          ))}
        </ScrollTable>
      )}
      <More list={list} />
    </Card>
  );
}

function FetchRow({ fetch }: { fetch: Fetch }) {
  const { feed_id, slot_at } = fetch;
  return (
    <tr>
      <th scope="row">
        {fetch.fetch}
        <div className="muted">{time(fetch.finished_at ?? fetch.started_at ?? fetch.requested_at)}</div>
      </th>
      <td className="outcome">
        <FetchStatusBadge fetch={fetch} />
        <div className="muted">
          <FetchOutcomeText fetch={fetch} />
        </div>
      </td>
      <td>
        {feed_id ? (
          <>
            <Link href={addressOf('feed', { feed: feed_id, step: 'run' })}>{feed_id}</Link>
            <div>
              <Link href={addressOf('feed', { feed: feed_id, step: 'runs' })}>
                {texts.fetches.runs(feed_id)}
              </Link>
            </div>
          </>
        ) : (
          texts.none
        )}
      </td>
      <td>
        {slot_at ? texts.fetches.scheduled : texts.fetches.requested}
        <div className="muted">{slot_at ? time(slot_at) : <Value>{fetch.requested_by}</Value>}</div>
      </td>
      <td className="number">{fetch.http_status ?? texts.none}</td>
      <td className="number">{count(fetch.attempts)}</td>
    </tr>
  );
}
