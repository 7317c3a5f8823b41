import { Link } from 'wouter';
import type { Schemas } from '../api';
import { time } from '../locale';
import { addressOf } from '../routes';
import { texts } from '../texts';
import { Value } from './value';

type Reason = Schemas['KnownAttentionReason'];

/** Reasons with correct products; all other reasons mean that products are wrong or missing. */
const mild: readonly string[] = ['many_skipped', 'more_skipped', 'stale', 'never_run'] satisfies Reason[];

/** Returns the address of the object of a reason. */
function placeOf(reason: string, partner: string): string {
  if (reason === 'source_failing') return addressOf('sources', { partner });
  if (reason === 'last_run_failed' || reason === 'withdrawals_blocked')
    return addressOf('feeds', { partner, status: 'failed' });
  if (reason === 'never_run') return addressOf('feeds', { partner, status: 'processing' });
  return addressOf('feeds', { partner });
}

/** Reasons for which a partner needs attention, worst first, each with a link to its object. */
export function AttentionList({ partner }: { partner: Schemas['Partner'] }) {
  if (partner.attention.length === 0) return <span className="badge good">{texts.attention.none}</span>;
  return (
    <ul className="plain">
      {partner.attention.map(({ reason, since, count }) => {
        const say = texts.attention.reasons[reason as Reason] as ((count: number) => string) | undefined;
        return (
          <li key={reason}>
            <Link
              href={placeOf(reason, partner.partner_name)}
              className={`badge ${mild.includes(reason) ? 'watch' : 'bad'}`}
            >
              {say ? say(count) : <Value>{reason}</Value>}
            </Link>{' '}
            <span className="muted">{texts.attention.since(time(since))}</span>
          </li>
        );
      })}
    </ul>
  );
}
