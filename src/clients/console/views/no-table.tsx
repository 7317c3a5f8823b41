import { Link } from 'wouter';
import { Value } from '../parts/value';
import { addressOf } from '../routes';
import { texts } from '../texts';

/** Shows why a file is no table, and the remedy. */
export function NoTable({ partner, reason }: { partner: string; reason: string | null }) {
  return (
    <div role="alert" className="notice bad">
      <h2>{texts.check.noTable}</h2>
      <p>
        <Value>{reason}</Value>
      </p>
      <Link href={addressOf('send', { partner })} className="button">
        {texts.send.choose}
      </Link>
    </div>
  );
}
