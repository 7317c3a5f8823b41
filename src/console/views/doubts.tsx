import { applyMergePatch, patchAt } from '../../feed-format/merge-patch';
import type { Schemas } from '../api';
import type { Definition } from '../data/mapping';
import { Field } from '../parts/field';
import { Value } from '../parts/value';
import { texts } from '../texts';

/** Answers by what they are about: the place of a choice, and the value that it wants. */
export type Answers = Record<string, { choice: number; value: string }>;

interface Options {
  inspection: Schemas['FeedInspection'];
  answers: Answers;
  onChange: (answers: Answers) => void;
}

/** Asks for what the file does not tell. */
export function Doubts({ inspection, answers, onChange }: Options) {
  return (
    <div className="stack">
      <h3>{texts.check.doubts}</h3>
      {inspection.doubts.map(({ about, message, choices }) => {
        const answer = answers[about];
        return (
          <fieldset key={about} className="stack">
            <legend>
              <Value>{message}</Value>
            </legend>
            {choices.map(({ label, value_pointer, sample }, at) => (
              <div key={at}>
                <label>
                  <input
                    type="radio"
                    name={about}
                    checked={answer?.choice === at}
                    onChange={() => onChange({ ...answers, [about]: { choice: at, value: '' } })}
                  />{' '}
                  <Value>{label}</Value>
                </label>
                {sample[0] && (
                  <span className="muted">
                    {' '}
                    <Value>{exampleOf(sample[0])}</Value>
                  </span>
                )}
                {value_pointer !== null && answer?.choice === at && (
                  <Field
                    label={texts.check.answer}
                    value={answer.value}
                    onChange={(value) => onChange({ ...answers, [about]: { choice: at, value } })}
                  />
                )}
              </div>
            ))}
          </fieldset>
        );
      })}
    </div>
  );
}

const exampleOf = ({ sku, product_name, price, currency }: Schemas['CleanedValues']) =>
  [sku, product_name, price, currency].filter(Boolean).join(' · ');

/** Returns the draft with all answers; null while a doubt is open. */
export function answeredDraft(
  { draft_format, doubts }: Schemas['FeedInspection'],
  answers: Answers,
): Definition | null {
  if (!draft_format) return null;
  let draft: unknown = draft_format;
  for (const { about, choices } of doubts) {
    const answer = answers[about];
    const choice = answer && choices[answer.choice];
    if (!choice || (choice.value_pointer !== null && answer.value.trim() === '')) return null;
    draft = applyMergePatch(draft, choice.changes);
    if (choice.value_pointer !== null)
      draft = applyMergePatch(draft, patchAt(choice.value_pointer, answer.value));
  }
  return draft as Definition;
}
