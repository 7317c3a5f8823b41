import { Link } from 'wouter';
import type { Schemas } from '../api';
import { pathOfWebhook, useDeliveries, useWebhook, type Webhook } from '../data/webhooks';
import { count } from '../locale';
import { Empty } from '../parts/empty';
import { Facts } from '../parts/facts';
import { Card, PageView } from '../parts/page';
import { List, Query } from '../parts/query';
import { DataTable } from '../parts/table';
import { Time } from '../parts/time';
import { Value } from '../parts/value';
import { EventName, WebhookEvents, WebhookState, webhookTitle } from '../parts/webhook-state';
import { addressOf, routes } from '../routes';
import { texts } from '../texts';
import { WebhookActions } from './webhook-actions';

const { webhooks: words } = texts;
const trail = [{ text: words.title, href: routes.webhooks }];

/** A webhook with its actions, and the messages that it has sent. */
export function WebhookView({ webhookId }: { webhookId: string }) {
  const asked = useWebhook(webhookId);
  const webhook = asked.data;
  return (
    <PageView
      title={webhook ? webhookTitle(webhook) : words.number(webhookId)}
      trail={trail}
      lead={webhook && <Value>{webhook.url}</Value>}
    >
      <Query of={asked}>
        {(found) => (found ? <Details webhook={found} /> : <Unknown webhookId={webhookId} />)}
      </Query>
    </PageView>
  );
}

const Unknown = ({ webhookId }: { webhookId: string }) => (
  <Card>
    <Empty
      title={words.unknown(webhookId)}
      lead={words.unknownWay}
      action={
        <Link className="button" href={routes.webhooks}>
          {words.all}
        </Link>
      }
    />
  </Card>
);

function Details({ webhook }: { webhook: Webhook }) {
  const { partner_name: partner } = webhook;
  const path = pathOfWebhook(webhook);
  return (
    <>
      <Card>
        <Facts
          facts={[
            [words.state, <WebhookState key="state" webhook={webhook} />],
            [
              words.partner,
              partner === null ? (
                words.allPartners
              ) : (
                <Link href={addressOf('partner', { partner })}>
                  <Value>{partner}</Value>
                </Link>
              ),
            ],
            [words.events, <WebhookEvents key="events" types={webhook.event_types} />],
            [words.created, <Time key="created" at={webhook.created_at} />],
            [words.lastFailure, webhook.failed_at && <LastFailure webhook={webhook} />],
            [
              words.discarded,
              webhook.discarded > 0 && <span title={words.discardedHint}>{count(webhook.discarded)}</span>,
            ],
          ]}
        />
        {path ? (
          <WebhookActions webhook={webhook} path={path} />
        ) : (
          <OfOperator webhookId={webhook.webhook_id} />
        )}
      </Card>
      <Card title={words.deliveries}>
        <Deliveries webhookId={webhook.webhook_id} />
      </Card>
    </>
  );
}

const LastFailure = ({ webhook: { failed_at, failure_reason } }: { webhook: Webhook }) => (
  <>
    <Time at={failed_at} />
    {failure_reason && (
      <div className="muted small">
        <Value>{failure_reason}</Value>
      </div>
    )}
  </>
);

const OfOperator = ({ webhookId }: { webhookId: string }) => (
  <details>
    <summary>{words.ofOperator}</summary>
    <p className="muted">{words.ofOperatorWay}</p>
    <pre tabIndex={0}>
      <code>{words.commands(webhookId)}</code>
    </pre>
  </details>
);

const Deliveries = ({ webhookId }: { webhookId: string }) => (
  <List
    of={useDeliveries(webhookId)}
    empty={<Empty title={words.noDeliveries} lead={words.noDeliveriesWay} />}
  >
    {(deliveries) => (
      <DataTable
        label={words.deliveries}
        rows={deliveries}
        keyOf={({ message_id }) => message_id}
        columns={[
          {
            title: words.event,
            kind: 'name',
            cell: ({ event_type, message_id }) => (
              <>
                <EventName type={event_type} />
                <div className="muted small digest">{message_id}</div>
              </>
            ),
          },
          { title: words.outcome, cell: (delivery) => <Outcome delivery={delivery} /> },
          { title: words.happened, kind: 'tight', cell: ({ happened_at }) => <Time at={happened_at} /> },
          { title: words.attempts, kind: 'number', cell: ({ attempts }) => count(attempts) },
          {
            title: words.result,
            kind: 'tight',
            cell: ({ last_result }) =>
              last_result &&
              (last_result === 'no response' ? words.noResponse : <Value>{last_result}</Value>),
          },
          {
            title: words.ended,
            kind: 'tight',
            cell: ({ finished_at }) => finished_at && <Time at={finished_at} />,
          },
        ]}
      />
    )}
  </List>
);

function Outcome({ delivery: { status, next_attempt_at } }: { delivery: Schemas['WebhookDelivery'] }) {
  const kinds: Record<string, string> = { delivered: 'good', discarded: 'bad' };
  return (
    <>
      <span className={`badge ${kinds[status] ?? 'watch'}`}>{words.outcomes[status]}</span>
      {next_attempt_at && (
        <div className="muted small">
          {Date.parse(next_attempt_at) > Date.now() ? (
            <>
              {words.next}
              <Time at={next_attempt_at} />
            </>
          ) : (
            words.due
          )}
        </div>
      )}
    </>
  );
}
