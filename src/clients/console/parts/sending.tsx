import { Label, ProgressBar } from 'react-aria-components';
import type { Progress } from '../data/send-form';
import { megabyte } from '../locale';
import { texts } from '../texts';
import { Action } from './action';

interface Options {
  progress: Progress | undefined;
  onCancel: () => void;
}

/** Shows the progress of sending a file. The service stores it when it is complete. */
export function Sending({ progress, onCancel }: Options) {
  const { sent, total } = progress ?? { sent: 0, total: 0 };
  const isSent = total > 0 && sent === total;
  return (
    <>
      <ProgressBar
        className="progress"
        value={total > 0 ? (100 * sent) / total : 0}
        isIndeterminate={isSent || total === 0}
      >
        {({ percentage, valueText, isIndeterminate }) => (
          <>
            <Label>{isSent ? texts.transfer.storing : texts.transfer.sending}</Label>
            <span>{!isIndeterminate && valueText}</span>
            <progress aria-hidden max={100} value={isSent ? 100 : percentage} />
          </>
        )}
      </ProgressBar>
      {total > 0 && <p className="muted">{texts.transfer.sent(megabyte(sent), megabyte(total))}</p>}
      {!isSent && <Action onPress={onCancel}>{texts.transfer.cancel}</Action>}
    </>
  );
}
