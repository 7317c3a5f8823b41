import type { Answers } from '../../../feed-format/detect/apply-answers';
import type { Schemas } from '../api';
import { ChoiceCards } from '../parts/choice-cards';
import { Field } from '../parts/field';
import { Card } from '../parts/page';
import { Value } from '../parts/value';
import { texts } from '../texts';

interface Options {
  doubts: Schemas['FormatDoubt'][];
  answers: Answers;
  onChange: (answers: Answers) => void;
}

/** Asks the open questions about a file. The focus goes to the first one. */
export function Doubts({ doubts, answers, onChange }: Options) {
  return (
    <Card title={texts.check.doubts(doubts.length)}>
      <p className="muted">{texts.check.doubtsLead}</p>
      {doubts.map(({ about, message, choices }, number) => {
        const answer = answers.get(about);
        const setAnswer = (choice: number, value: string) =>
          onChange(new Map(answers).set(about, { choice, value }));
        return (
          <ChoiceCards
            key={about}
            isFirst={number === 0}
            legend={<Value>{message}</Value>}
            value={answer?.choice}
            onChange={(choice) => setAnswer(choice, '')}
            cards={choices.map(({ label, value_pointer, sample }, at) => ({
              value: at,
              title: <Value>{label}</Value>,
              note: sample.length > 0 && <Examples products={sample.slice(0, shownExamples)} />,
              more: value_pointer !== null && answer?.choice === at && (
                <Field
                  label={texts.check.answer}
                  autoFocus
                  value={answer.value}
                  onChange={(value) => setAnswer(at, value)}
                />
              ),
            }))}
          />
        );
      })}
    </Card>
  );
}

const shownExamples = 2;

function Examples({ products }: { products: Schemas['CleanedValues'][] }) {
  return products.map(({ sku, product_name, price, currency }, at) => (
    <span key={at} className="example">
      <Value>
        {[sku, product_name, [price, currency].filter(Boolean).join(' ')].filter(Boolean).join(' · ')}
      </Value>
    </span>
  ));
}
