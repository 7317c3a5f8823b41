import { bodyOf, client, type Schemas } from '../api';
import { usePages } from '../data/queries';
import { count, time } from '../locale';
import { FailureNotice } from '../parts/failure';
import { More } from '../parts/more';
import { Card, Loading, PageView } from '../parts/page';
import { ScrollTable } from '../parts/scroll-table';
import { Value } from '../parts/value';
import { texts } from '../texts';
import { useWebhooks, WebhookTable } from './webhooks';

/** A webhook, with the deliveries of its events. */
export function WebhookView({ webhookId }: { webhookId: string }) {
  const webhook = useWebhooks()
    .data?.pages.flatMap(({ items }) => items)
    .find(({ webhook_id }) => webhook_id === webhookId);
  return (
    <PageView title={texts.webhooks.number(webhookId)}>
      {webhook && (
        <Card>
          <WebhookTable webhooks={[webhook]} />
        </Card>
      )}
      <Card title={texts.webhooks.deliveries}>
        <p className="muted">{texts.webhooks.deliveriesLead}</p>
        <Deliveries webhookId={webhookId} />
      </Card>
    </PageView>
  );
}

const everyMilliseconds = 5_000;
const isOpen = ({ finished_at }: Schemas['WebhookDelivery']) => finished_at === null;

function Deliveries({ webhookId }: { webhookId: string }) {
  const list = usePages(
    ['deliveries', webhookId],
    (cursor) =>
      bodyOf(
        client.GET('/webhooks/{webhook_id}/deliveries', {
          params: { path: { webhook_id: webhookId }, query: { cursor, limit: 50 } },
        }),
      ),
    true,
    (pages) => (pages.some(({ items }) => items.some(isOpen)) ? everyMilliseconds : false),
  );
  if (list.isLoadingError) return <FailureNotice error={list.error} retry={() => void list.refetch()} />;
  if (list.isPending) return <Loading />;
  const deliveries = list.data.pages.flatMap(({ items }) => items);
  if (deliveries.length === 0) return <p>{texts.webhooks.noDeliveries}</p>;
  const { event, happened, outcome, attempts, result, ended } = texts.webhooks;
  return (
    <>
      <ScrollTable
        label={texts.webhooks.deliveries}
        columns={[
          ...[event, outcome, happened].map((title) => ({ title })),
          { title: attempts, isNumber: true },
          ...[result, ended].map((title) => ({ title })),
        ]}
      >
        {deliveries.map((delivery) => (
          <tr key={delivery.message_id}>
            <th scope="row">
              {delivery.event_type}
              <div className="muted digest">{delivery.message_id}</div>
            </th>
            <td>
              <Outcome delivery={delivery} />
            </td>
            <td className="time">{time(delivery.happened_at)}</td>
            <td className="number">{count(delivery.attempts)}</td>
            <td>
              <Value>{delivery.last_result}</Value>
            </td>
            <td className="time">{time(delivery.finished_at)}</td>
          </tr>
        ))}
      </ScrollTable>
      <More list={list} />
    </>
  );
}

function Outcome({ delivery: { status, next_attempt_at } }: { delivery: Schemas['WebhookDelivery'] }) {
  const kinds: Record<string, string> = { delivered: 'good', discarded: 'bad' };
  return (
    <>
      <span className={`badge ${kinds[status] ?? 'watch'}`}>{texts.webhooks.outcomes[status]}</span>
      {next_attempt_at && <p className="muted">{texts.webhooks.next(time(next_attempt_at))}</p>}
    </>
  );
}
