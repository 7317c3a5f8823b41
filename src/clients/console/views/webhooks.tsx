import { Link } from 'wouter';
import { bodyOf, client, type Schemas } from '../api';
import { usePages } from '../data/queries';
import { count, time } from '../locale';
import { FailureNotice } from '../parts/failure';
import { More } from '../parts/more';
import { Card, Loading, PageView } from '../parts/page';
import { Prose } from '../parts/prose';
import { DataTable } from '../parts/table';
import { Value } from '../parts/value';
import { addressOf } from '../routes';
import { texts } from '../texts';

type Webhook = Schemas['Webhook'];

const useWebhooks = () =>
  usePages(['webhooks'], (cursor) =>
    bodyOf(client.GET('/webhooks', { params: { query: { cursor, limit: 100 } } })),
  );

/** Endpoints of events, with their state. */
export function WebhooksView() {
  return (
    <PageView title={texts.webhooks.title}>
      <p className="muted">
        <Prose>{texts.webhooks.lead}</Prose>
      </p>
      <Card>
        <Webhooks />
      </Card>
    </PageView>
  );
}

function Webhooks() {
  const list = useWebhooks();
  if (list.isLoadingError) return <FailureNotice error={list.error} retry={() => void list.refetch()} />;
  if (list.isPending) return <Loading />;
  const webhooks = list.data.pages.flatMap(({ items }) => items);
  if (webhooks.length === 0)
    return (
      <>
        <p>{texts.webhooks.none}</p>
        <p className="muted">
          <Prose>{texts.webhooks.noneWay}</Prose>
        </p>
      </>
    );
  return (
    <>
      <WebhookTable webhooks={webhooks} />
      <More list={list} />
    </>
  );
}

function WebhookTable({ webhooks }: { webhooks: Webhook[] }) {
  const { url, events, state, lastFailure, discarded } = texts.webhooks;
  return (
    <DataTable
      label={texts.webhooks.title}
      columns={[
        ...[url, texts.partners.name, events, state, lastFailure].map((title) => ({ title })),
        { title: discarded, isNumber: true },
      ]}
    >
      {webhooks.map((webhook) => (
        <tr key={webhook.webhook_id}>
          <th scope="row">
            <Link href={addressOf('webhook', { webhook: webhook.webhook_id })}>
              {texts.webhooks.number(webhook.webhook_id)}
            </Link>
            <div className="muted">
              <Value>{webhook.url}</Value>
            </div>
          </th>
          <td>
            {webhook.partner_name === null ? (
              texts.webhooks.allPartners
            ) : (
              <Value>{webhook.partner_name}</Value>
            )}
          </td>
          <td>{webhook.event_types?.join(', ') ?? texts.webhooks.allEvents}</td>
          <td>
            <State webhook={webhook} />
          </td>
          <td>
            {time(webhook.failed_at)}
            {webhook.failure_reason && (
              <p className="muted">
                <Value>{webhook.failure_reason}</Value>
              </p>
            )}
          </td>
          <td className="number">{count(webhook.discarded)}</td>
        </tr>
      ))}
    </DataTable>
  );
}

function State({ webhook }: { webhook: Webhook }) {
  const { failures_in_a_row: failures, paused_until, disabled_at, disabled_reason } = webhook;
  const { used, failing, paused, disabled } = texts.webhooks.states;
  if (disabled_at)
    return (
      <>
        <span className="badge bad">{disabled(time(disabled_at))}</span>
        {disabled_reason && (
          <p className="muted">
            <Value>{disabled_reason}</Value>
          </p>
        )}
      </>
    );
  if (paused_until) return <span className="badge watch">{paused(time(paused_until))}</span>;
  if (failures > 0) return <span className="badge watch">{failing(failures)}</span>;
  return <span className="badge good">{used}</span>;
}

/** A webhook, with the deliveries of its events. */
export function DeliveriesView({ webhookId }: { webhookId: string }) {
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
      <DataTable
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
      </DataTable>
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
