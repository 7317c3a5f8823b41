import type { SentBytes } from '../data/send-form';
import { megabyte } from '../locale';
import { texts } from '../texts';
import { Action } from './action';
import { WorkProgress } from './work-progress';

interface Options {
  progress: SentBytes | undefined;
  /** What is done; absent: a file is stored. */
  labels?: { sending: string; sent: string };
  onCancel: () => void;
}

/** A smaller file is sent before its progress can be read. */
const shownFrom = 1e6;
const storing = { sending: texts.transfer.sending, sent: texts.transfer.storing };

/** Shows the progress of sending a file. What the service does when it is complete takes an unknown time. */
export function Sending({ progress, labels = storing, onCancel }: Options) {
  const { sent, total } = progress ?? { sent: 0, total: 0 };
  const isSent = total > 0 && sent === total;
  return (
    <>
      <WorkProgress
        label={isSent ? labels.sent : labels.sending}
        percent={total > 0 ? (100 * sent) / total : undefined}
        isWaiting={isSent}
      />
      {total >= shownFrom && <p className="muted">{texts.transfer.sent(megabyte(sent), megabyte(total))}</p>}
      {(!isSent || labels !== storing) && <Action onPress={onCancel}>{texts.transfer.cancel}</Action>}
    </>
  );
}
