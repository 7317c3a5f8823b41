import { useId, type ReactNode } from 'react';

interface Card<Value> {
  value: Value;
  title: ReactNode;
  /** Below the title: what the choice means. */
  note?: ReactNode;
  /** Outside the label: for controls that belong to the choice. */
  more?: ReactNode;
}

interface Options<Value> {
  legend: ReactNode;
  cards: Card<Value>[];
  /** The chosen value; undefined: none is chosen yet. */
  value: Value | undefined;
  onChange: (value: Value) => void;
  /** Whether the group gets the focus when it appears. */
  isFirst?: boolean;
}

/** A choice with words for each possibility, as radio buttons of the platform. */
export function ChoiceCards<Value extends string | number>({
  legend,
  cards,
  value,
  onChange,
  isFirst,
}: Options<Value>) {
  const name = useId();
  return (
    <fieldset className="choice-cards">
      <legend>{legend}</legend>
      {cards.map(({ value: each, title, note, more }, at) => (
        <div key={each} className="choice-card">
          <label>
            <input
              type="radio"
              name={name}
              autoFocus={isFirst && at === 0}
              checked={each === value}
              onChange={() => onChange(each)}
              aria-describedby={note ? `${name}${at}` : undefined}
              aria-labelledby={`${name}title${at}`}
            />
            <span>
              <span className="choice-title" id={`${name}title${at}`}>
                {title}
              </span>
              {note && (
                <span className="muted choice-note" id={`${name}${at}`}>
                  {note}
                </span>
              )}
            </span>
          </label>
          {more}
        </div>
      ))}
    </fieldset>
  );
}
