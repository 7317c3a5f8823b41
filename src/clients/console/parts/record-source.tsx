import { Link } from 'wouter';
import type { Schemas } from '../api';
import { useFeed } from '../data/queries';
import { addressOf } from '../routes';
import { texts } from '../texts';
import { Facts } from './facts';
import { Value } from './value';

/** The line of a file from which values come, as the partner sent it, and a link to its feed. */
export function RecordSource({ source }: { source: Schemas['RecordSource'] }) {
  const { feed_id, record_text, file_sha256, encoding } = source;
  if (feed_id === null) return <p className="muted">{texts.source.unknown}</p>;
  return (
    <>
      {record_text === null ? (
        <p className="muted">{texts.source.gone}</p>
      ) : (
        <pre className="record" tabIndex={0} role="region" aria-label={texts.source.line}>
          <Value>{record_text}</Value>
        </pre>
      )}
      <Facts
        facts={[
          [texts.source.file, <FeedLink key="file" feedId={feed_id} />],
          [texts.source.encoding, encoding?.toUpperCase()],
        ]}
      />
      {file_sha256 && (
        <details>
          <summary>{texts.source.proof}</summary>
          <p className="muted">{texts.source.digest}</p>
          <code className="digest">{file_sha256}</code>
        </details>
      )}
    </>
  );
}

/** Links to a feed by the name of its file. */
export function FeedLink({ feedId }: { feedId: string }) {
  const name = useFeed(feedId).data?.file_name;
  return (
    <>
      <Link href={addressOf('feed', { feed: feedId })}>
        {name === undefined ? feedId : <Value>{name}</Value>}
      </Link>
      {name !== undefined && <span className="muted small"> {feedId}</span>}
    </>
  );
}
