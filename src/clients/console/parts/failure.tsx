import { RequestError } from '../api';
import { texts } from '../texts';
import { Action } from './action';
import { Value } from './value';

/** Shows an error, and a way to continue. */
export function FailureNotice({ error, retry }: { error: Error; retry?: () => void }) {
  const isRequest = error instanceof RequestError;
  const isReadOnly = isRequest && error.code === 'read_only_key';
  return (
    <div role="alert" className="notice bad">
      <h2>{texts.failure.title}</h2>
      {error.message.split('\n').map((line, at) => (
        <p key={at}>
          <Value>{line}</Value>
        </p>
      ))}
      {isRequest && error.status === 413 && <p>{texts.failure.tooLarge}</p>}
      {isReadOnly && <p>{texts.failure.readOnly}</p>}
      {isRequest && error.requestId && <p className="muted">{texts.failure.requestId(error.requestId)}</p>}
      {retry && <Action onPress={retry}>{texts.again}</Action>}
    </div>
  );
}
