import type { Webhook } from '../data/webhooks';
import { texts } from '../texts';
import { Time } from './time';
import { Value } from './value';

const { webhooks: words } = texts;

/** Returns the name that its partner gave to a webhook, or its number. */
export const webhookTitle = ({ webhook_id, webhook_name }: Webhook) =>
  webhook_name ?? words.number(webhook_id);

/** Whether a webhook works, and if not, since or until when. */
export function WebhookState({ webhook }: { webhook: Webhook }) {
  const { failures_in_a_row: failures, paused_until, disabled_at, disabled_reason } = webhook;
  const { used, failing, paused, disabled } = words.states;
  if (disabled_at)
    return (
      <>
        <span className="badge bad">{disabled}</span> <Time at={disabled_at} />
        {disabled_reason && (
          <div className="muted small">
            <Value>{disabled_reason}</Value>
          </div>
        )}
      </>
    );
  if (paused_until)
    return (
      <>
        <span className="badge watch">{paused}</span>{' '}
        <span className="muted small">
          {words.resumes}
          <Time at={paused_until} />
        </span>
      </>
    );
  if (failures > 0) return <span className="badge watch">{failing(failures)}</span>;
  return <span className="badge good">{used}</span>;
}

/** What a webhook sends, in words. @param types - null for all */
export function WebhookEvents({ types }: { types: readonly string[] | null }) {
  if (!types) return words.allEvents;
  return (
    <ul className="plain">
      {types.map((type) => (
        <li key={type}>
          <EventName type={type} />
        </li>
      ))}
    </ul>
  );
}

/** A type of event in words; its code, which programs know, on hover. Unknown types are of a newer service. */
export const EventName = ({ type }: { type: string }) => (
  <span title={type}>{words.eventNames[type] ?? type}</span>
);
