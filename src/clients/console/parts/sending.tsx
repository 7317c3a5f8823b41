import type { SentBytes } from '../data/send-form';
import { megabyte } from '../locale';
import { texts } from '../texts';
import { Action } from './action';
import { WorkProgress } from './work-progress';

interface Options {
  progress: SentBytes | undefined;
  onCancel: () => void;
}

/** Shows the progress of sending a file. The service stores it when it is complete. */
export function Sending({ progress, onCancel }: Options) {
  const { sent, total } = progress ?? { sent: 0, total: 0 };
  const isSent = total > 0 && sent === total;
  return (
    <>
      <WorkProgress
        label={isSent ? texts.transfer.storing : texts.transfer.sending}
        percent={total > 0 ? (100 * sent) / total : undefined}
        isWaiting={isSent}
      />
      {total > 0 && <p className="muted">{texts.transfer.sent(megabyte(sent), megabyte(total))}</p>}
      {!isSent && <Action onPress={onCancel}>{texts.transfer.cancel}</Action>}
    </>
  );
}
