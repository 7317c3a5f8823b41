import { Link } from 'wouter';
import { bodyOf, client, RequestError, type Schemas } from '../api';
import { usePages } from '../data/queries';
import { count, duration } from '../locale';
import { FailureNotice } from '../parts/failure';
import { More } from '../parts/more';
import { Card, Loading, PageView } from '../parts/page';
import { ScrollTable } from '../parts/scroll-table';
import { Value } from '../parts/value';
import { addressOf, routes } from '../routes';
import { texts } from '../texts';

const everyMilliseconds = 5_000;

/** The queued runs and the runs in progress, by partner; refreshed periodically. */
export function QueueView() {
  return (
    <PageView title={texts.queue.title}>
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
  if (queue.isLoadingError && queue.error instanceof RequestError && queue.error.status === 403)
    return (
      <div role="alert" className="notice">
        <h2>{texts.queue.limited}</h2>
        <p>{texts.queue.limitedWay}</p>
        <Link className="button" href={routes.feeds}>
          {texts.nav.feeds}
        </Link>
      </div>
    );
  if (queue.isLoadingError) return <FailureNotice error={queue.error} retry={() => void queue.refetch()} />;
  if (queue.isPending) return <Loading />;
  const [{ waiting, running, oldest_requested_at }] = queue.data.pages as [Schemas['Queue']];
  const partners = queue.data.pages.flatMap(({ items }) => items);
  const age = (since: string | null) =>
    since === null ? texts.none : duration(queue.dataUpdatedAt - Date.parse(since));
  const { oldest } = texts.queue;
  return (
    <>
      <Card>
        <dl className="counts">
          {[
            [texts.queue.waiting, count(waiting)],
            [texts.queue.running, count(running)],
            [oldest, age(oldest_requested_at)],
          ].map(([title, value]) => (
            <div key={title} className="count">
              <dt>{title}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
        <p className="muted">{texts.queue.refreshed}</p>
      </Card>
      <Card>
        {partners.length === 0 ? (
          <>
            <p>{texts.queue.none}</p>
            <p className="muted">{texts.queue.noneWay}</p>
          </>
        ) : (
          <ScrollTable
            label={texts.queue.title}
            columns={[
              { title: texts.partners.name },
              { title: texts.queue.waiting, isNumber: true },
              { title: oldest, isNumber: true },
              { title: texts.queue.running, isNumber: true },
            ]}
          >
            {partners.map((partner) => (
              <tr key={partner.partner_name}>
                <th scope="row">
                  <Link href={addressOf('partner', { partner: partner.partner_name })}>
                    <Value>{partner.partner_name}</Value>
                  </Link>
                </th>
                <td className="number">{count(partner.waiting)}</td>
                <td className="number">{age(partner.oldest_requested_at)}</td>
                <td className="number">{count(partner.running)}</td>
              </tr>
            ))}
          </ScrollTable>
        )}
        <More list={queue} />
      </Card>
    </>
  );
}
