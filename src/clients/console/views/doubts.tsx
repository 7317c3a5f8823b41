import type { Answers } from '../../../feed-format/detect/apply-answers';
import type { Schemas } from '../api';
import { Field } from '../parts/field';
import { Value } from '../parts/value';
import { texts } from '../texts';

interface Options {
  inspection: Schemas['FeedInspection'];
  answers: Answers;
  onChange: (answers: Answers) => void;
}

/** Asks the open questions about a file. */
export function Doubts({ inspection, answers, onChange }: Options) {
  return (
    <div className="stack">
      <h3>{texts.check.doubts}</h3>
      {inspection.doubts.map(({ about, message, choices }) => {
        const answer = answers.get(about);
        const setAnswer = (choice: number, value: string) =>
          onChange(new Map(answers).set(about, { choice, value }));
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
                    onChange={() => setAnswer(at, '')}
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
                    onChange={(value) => setAnswer(at, value)}
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
