import { Link } from 'wouter';
import type { Schemas } from '../api';
import { reasonOf } from '../data/reasons';
import { Action } from '../parts/action';
import { Value } from '../parts/value';
import { addressOf } from '../routes';
import { texts } from '../texts';

interface Options {
  plan: Schemas['JobPlan'];
  /** Sets permissions of the run in the address. */
  onAllow: (permission: Record<string, string>) => void;
}

/** Shows why the run would fail; if a confirmation can prevent it, offers the preview of a confirmed run. */
export function WouldFail({ plan, onAllow }: Options) {
  const { newer_feed_id: newer, message } = plan;
  const { would_withdraw: withdrawn } = plan.summary;
  return (
    <div role="alert" className="notice bad">
      <h3>{texts.plan.would}</h3>
      <p>
        <Value>{reasonOf(message)}</Value>
      </p>
      {newer !== undefined && (
        <div className="actions">
          <Action onPress={() => onAllow({ older: 'yes' })}>{texts.plan.older}</Action>
          <Link className="button" href={addressOf('feed', { feed: newer })}>
            {texts.plan.newer(newer)}
          </Link>
        </div>
      )}
      {withdrawn !== undefined && (
        <>
          <p>{texts.plan.withdrawLead}</p>
          <Action onPress={() => onAllow({ withdraw: String(withdrawn) })}>
            {texts.plan.withdraw(withdrawn)}
          </Action>
        </>
      )}
    </div>
  );
}
