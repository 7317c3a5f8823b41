import { Link } from 'wouter';
import type { Schemas } from '../api';
import { Value } from '../parts/value';
import { addressOf } from '../routes';
import { texts } from '../texts';
import { FileSteps } from './file-steps';

interface Options {
  partner: string;
  /** What the file is. */
  hint: Schemas['FileHint'];
  /** Why it is refused, if it is not known what it is. */
  refusal: string | null;
}

/** Shows why a file is no table, and the remedy. */
export function NoTable({ partner, hint, refusal }: Options) {
  return (
    <div role="alert" className="notice bad">
      <h2>{texts.check.noTable}</h2>
      <p>
        <Value>{hint?.message ?? refusal}</Value>
      </p>
      <FileSteps kind={hint?.code} />
      <Link href={addressOf('send', { partner })} className="button">
        {texts.send.choose}
      </Link>
    </div>
  );
}
