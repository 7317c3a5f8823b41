import { Link } from 'wouter';
import { bodyOf, client, RequestError, type Schemas } from '../api';
import { usePages } from '../data/queries';
import { count, duration } from '../locale';
import { Counts } from '../parts/counts';
import { Empty } from '../parts/empty';
import { Card, PageView } from '../parts/page';
import { List } from '../parts/query';
import { DataTable } from '../parts/table';
import { Value } from '../parts/value';
import { addressOf, routes } from '../routes';
import { texts } from '../texts';

const everyMilliseconds = 5_000;

/** The queued runs and the runs in progress, by partner; refreshed periodically. */
export function QueueView() {
  return (
    <PageView title={texts.queue.title} lead={texts.queue.lead}>
      <Queue />
    </PageView>
  );
}

function Queue() {
  const queue = usePages(
    ['queue'],
    (cursor) => bodyOf(client.GET('/queue', { params: { query: { cursor, limit: 100 } } })),
    true,
    () => everyMilliseconds,
  );
  const age = (since: string | null) =>
    since === null ? null : duration(queue.dataUpdatedAt - Date.parse(since));
  if (queue.error instanceof RequestError && queue.error.status === 403) return <Limited />;
  const totals = queue.data?.pages[0];
  return (
    <>
      {totals && (
        <Card>
          <Counts
            counts={[
              { title: texts.queue.waiting, value: count(totals.waiting) },
              { title: texts.queue.running, value: count(totals.running) },
              { title: texts.queue.oldest, value: age(totals.oldest_requested_at) ?? texts.none },
            ]}
          />
        </Card>
      )}
      <Card>
        <List of={queue} empty={<Empty title={texts.queue.none} lead={texts.queue.noneWay} />}>
          {(partners) => <QueueTable partners={partners} age={age} />}
        </List>
      </Card>
    </>
  );
}

interface TableOptions {
  partners: Schemas['Queue']['items'];
  /** Formats the time since then; null without one. */
  age: (since: string | null) => string | null;
}

function QueueTable({ partners, age }: TableOptions) {
  return (
    <DataTable
      label={texts.queue.title}
      columns={[
        {
          title: texts.partners.name,
          kind: 'name',
          cell: ({ partner_name }) => (
            <Link href={addressOf('partner', { partner: partner_name })}>
              <Value>{partner_name}</Value>
            </Link>
          ),
        },
        { title: texts.queue.waiting, kind: 'number', cell: ({ waiting }) => count(waiting) },
        {
          title: texts.queue.oldest,
          kind: 'number',
          cell: ({ oldest_requested_at }) => age(oldest_requested_at),
        },
        { title: texts.queue.running, kind: 'number', cell: ({ running }) => count(running) },
      ]}
      rows={partners}
      keyOf={({ partner_name }) => partner_name}
    />
  );
}

/** For a key of one partner. */
function Limited() {
  return (
    <div role="alert" className="notice">
      <h2>{texts.queue.limited}</h2>
      <p>{texts.queue.limitedWay}</p>
      <Link className="button" href={routes.feeds}>
        {texts.nav.feeds}
      </Link>
    </div>
  );
}
