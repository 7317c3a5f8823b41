import { Link } from 'wouter';
import { root } from '../api';
import { useWebhooks, type Webhook } from '../data/webhooks';
import { count } from '../locale';
import { Empty } from '../parts/empty';
import { Card, PageView } from '../parts/page';
import { Prose } from '../parts/prose';
import { List } from '../parts/query';
import { DataTable } from '../parts/table';
import { Time } from '../parts/time';
import { Value } from '../parts/value';
import { WebhookEvents, WebhookState, webhookTitle } from '../parts/webhook-state';
import { addressOf } from '../routes';
import { texts } from '../texts';

const { webhooks: words } = texts;

/** Endpoints of events, with their state. */
export function WebhooksView() {
  return (
    <PageView title={words.title} lead={words.lead}>
      <Card>
        <List of={useWebhooks()} empty={<NoWebhook />}>
          {(webhooks) => <WebhookTable webhooks={webhooks} />}
        </List>
      </Card>
    </PageView>
  );
}

const NoWebhook = () => (
  <Empty
    title={words.none}
    lead={<Prose>{words.noneWay}</Prose>}
    action={
      <a className="button" href={new URL('docs#/Webhooks/replaceWebhook', root).href}>
        {words.noneAction}
      </a>
    }
  />
);

function WebhookTable({ webhooks }: { webhooks: Webhook[] }) {
  return (
    <DataTable
      label={words.title}
      rows={webhooks}
      keyOf={({ webhook_id }) => webhook_id}
      columns={[
        {
          title: words.url,
          kind: 'name',
          cell: (webhook) => (
            <>
              <Link href={addressOf('webhook', { webhook: webhook.webhook_id })}>
                {webhookTitle(webhook)}
              </Link>
              <div className="muted small">
                <Value>{webhook.url}</Value>
              </div>
            </>
          ),
        },
        {
          title: words.partner,
          cell: ({ partner_name }) =>
            partner_name === null ? words.allPartners : <Value>{partner_name}</Value>,
        },
        { title: words.events, cell: (webhook) => <WebhookEvents types={webhook.event_types} /> },
        { title: words.state, cell: (webhook) => <WebhookState webhook={webhook} /> },
        {
          title: words.lastFailure,
          kind: 'tight',
          cell: ({ failed_at }) => failed_at && <Time at={failed_at} />,
        },
        {
          title: words.discarded,
          kind: 'number',
          cell: ({ discarded }) => count(discarded),
        },
      ]}
    />
  );
}
