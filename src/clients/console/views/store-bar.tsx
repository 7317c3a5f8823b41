import type { ReadingChoice } from '../data/reading-choice';
import { Cancelled } from '../data/send-form';
import type { StoreFile } from '../data/store-file';
import { Action } from '../parts/action';
import { FailureNotice } from '../parts/failure';
import { Sending } from '../parts/sending';
import { texts } from '../texts';

interface Options {
  choice: ReadingChoice;
  storing: StoreFile;
}

/** Stores the file, or says what is missing. Stays in sight while the view is scrolled. */
export function StoreBar({ choice, storing }: Options) {
  const { upload, saved } = storing;
  return (
    <section className="store-bar">
      {saved.error && <FailureNotice error={saved.error} />}
      {upload.error && !(upload.error instanceof Cancelled) && <FailureNotice error={upload.error} />}
      {upload.isPending ? (
        <Sending progress={storing.progress} onCancel={storing.cancel} />
      ) : (
        <div className="with-action">
          <Next choice={choice} isCancelled={upload.error instanceof Cancelled} />
          <Action
            kind="primary"
            isDisabled={!choice.isComplete || choice.nameFault !== undefined}
            isPending={saved.isPending}
            onPress={storing.store}
          >
            {upload.error ? texts.again : texts.check.upload}
          </Action>
        </div>
      )}
    </section>
  );
}

/** What the button does, or why it cannot. */
function Next({ choice, isCancelled }: { choice: ReadingChoice; isCancelled: boolean }) {
  const { isComplete, definition, nameFault } = choice;
  if (!isComplete)
    return <p className="field-error">{definition ? texts.check.needsSku : texts.check.needsAnswers}</p>;
  if (nameFault) return <p className="field-error">{texts.check.needsName}</p>;
  if (isCancelled) return <p role="status">{texts.transfer.cancelled}</p>;
  return <p className="muted">{texts.check.ready}</p>;
}
