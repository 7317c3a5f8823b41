import { Link } from 'wouter';
import type { Schemas } from '../api';
import { useInspectedFeed } from '../data/fetched';
import { useFeed } from '../data/queries';
import { Facts } from '../parts/facts';
import { Card } from '../parts/page';
import { Query } from '../parts/query';
import { Value } from '../parts/value';
import { addressOf } from '../routes';
import { texts } from '../texts';
import { Faults } from './faults';
import { FileFacts } from './file-facts';
import { Sample, sampleRows } from './sample-table';

/** Shows the findings of the inspection of a fetched file, by the format of its feed. */
export function FetchedFile({ feedId }: { feedId: string }) {
  return (
    <Query of={useFeed(feedId)}>
      {(feed) =>
        feed.raw_file_removed_at ? (
          <p className="notice">{texts.sources.fileRemoved}</p>
        ) : (
          <Inspected feed={feed} />
        )
      }
    </Query>
  );
}

function Inspected({ feed }: { feed: Schemas['Feed'] }) {
  return (
    <Query of={useInspectedFeed(feed)}>
      {(inspection) => <Findings feed={feed} inspection={inspection} />}
    </Query>
  );
}

function Findings({ feed, inspection }: { feed: Schemas['Feed']; inspection: Schemas['FeedInspection'] }) {
  const { issue_counts, refusal, run_failure } = inspection;
  const problem = refusal ?? run_failure;
  return (
    <>
      <Card title={texts.check.title}>
        <Facts
          facts={[
            [texts.feed.file, <Value>{feed.file_name}</Value>],
            [texts.sources.format, feed.format_name ?? texts.sources.noFormat],
          ]}
        />
        <FileFacts inspection={inspection} />
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
