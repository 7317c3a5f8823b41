import { Link } from 'wouter';
import type { Schemas } from '../api';
import { useInspectedFeed } from '../data/fetched';
import { useFeed } from '../data/queries';
import { Facts } from '../parts/facts';
import { FailureNotice } from '../parts/failure';
import { Card, Loading } from '../parts/page';
import { Value } from '../parts/value';
import { addressOf } from '../routes';
import { texts } from '../texts';
import { Faults } from './faults';
import { Sample, sampleRows } from './sample-table';

/** Shows the findings of the inspection of a fetched file, by the format of its feed. */
export function FetchedFile({ feedId }: { feedId: string }) {
  const feed = useFeed(feedId);
  if (feed.error) return <FailureNotice error={feed.error} retry={() => void feed.refetch()} />;
  if (!feed.data) return <Loading />;
  if (feed.data.raw_file_removed_at) return <p className="notice">{texts.sources.fileRemoved}</p>;
  return <Inspected feed={feed.data} />;
}

function Inspected({ feed }: { feed: Schemas['Feed'] }) {
  const inspected = useInspectedFeed(feed);
  if (inspected.error)
    return <FailureNotice error={inspected.error} retry={() => void inspected.refetch()} />;
  if (!inspected.data) return <Loading />;
  const inspection = inspected.data;
  const { delimiter, row_count, complete, issue_counts, refusal, run_failure } = inspection;
  const problem = refusal ?? run_failure;
  return (
    <>
      <Card title={texts.check.title}>
        <Facts
          facts={[
            [texts.feed.file, <Value>{feed.file_name}</Value>],
            [texts.sources.format, feed.format_name ?? texts.sources.noFormat],
            [texts.check.encoding, inspection.detected_encoding],
            [texts.check.delimiter, delimiter && (texts.check.delimiters[delimiter] ?? delimiter)],
            [texts.counts.processed!, texts.check.rows(row_count, complete)],
          ]}
        />
        {problem && (
          <p role="alert" className="notice bad">
            <Value>{problem}</Value>
          </p>
        )}
        {issue_counts.length > 0 ? (
          <>
            <h3>{texts.check.faults}</h3>
            <Faults counts={issue_counts} />
          </>
        ) : (
          !problem && <p>{texts.sources.noFaults}</p>
        )}
        <Link className="button" href={addressOf('feed', { feed: feed.feed_id, step: 'plan' })}>
          {texts.sources.plan}
        </Link>
      </Card>
      <Sample rows={sampleRows(inspection)} />
    </>
  );
}
