import { Link } from 'wouter';
import { bodyOf, client, type Schemas } from '../api';
import { usePages } from '../data/queries';
import { count, time } from '../locale';
import { FailureNotice } from '../parts/failure';
import { More } from '../parts/more';
import { Card, Loading, PageView } from '../parts/page';
import { Prose } from '../parts/prose';
import { ScrollTable } from '../parts/scroll-table';
import { Value } from '../parts/value';
import { addressOf } from '../routes';
import { texts } from '../texts';

type Webhook = Schemas['Webhook'];

export const useWebhooks = () =>
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

export function WebhookTable({ webhooks }: { webhooks: Webhook[] }) {
  const { url, events, state, lastFailure, discarded } = texts.webhooks;
  return (
    <ScrollTable
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
    </ScrollTable>
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
