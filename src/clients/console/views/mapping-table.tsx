import { productColumns } from '../../../feed-format/columns';
import type { Schemas } from '../api';
import { choiceOf, sourceOfChoice, withSource, type ColumnName, type Definition } from '../data/mapping';
import { Choice, Field } from '../parts/field';
import { texts } from '../texts';

interface Options {
  headers: Schemas['InspectedHeader'][];
  /** The definition without changes. */
  suggested: Definition;
  definition: Definition;
  onChange: (definition: Definition) => void;
}

/** Chooses the source of the values of each column. */
export function Mapping({ headers, suggested, definition, onChange }: Options) {
  const headersOrPositions = headers.flatMap(({ header, column_number }): [string, string][] => {
    if (definition.header === false) return [[`position:${column_number}`, `${column_number}`]];
    // No format can name a column without a header.
    return header === '' ? [] : [[`from:${header}`, header]];
  });
  const optionsOf = (column: ColumnName) => {
    const source = suggested.columns[column];
    const current = choiceOf(definition.columns[column]);
    const offered: [string, string][] = [
      ['', texts.check.absent],
      ...headersOrPositions,
      ['value', texts.check.fixed],
      ...(source?.join ? ([['join', texts.check.joined(source.join.join(', '))]] as [string, string][]) : []),
      ...(source?.quantity
        ? ([['quantity', texts.check.quantity(source.quantity.from.join(', '))]] as [string, string][])
        : []),
    ];
    // The suggestion may spell a header differently.
    return offered.some(([value]) => value === current)
      ? offered
      : [...offered, [current, current.slice(current.indexOf(':') + 1)] as [string, string]];
  };
  return (
    <fieldset className="mapping">
      <legend>{texts.check.mappingLead}</legend>
      {productColumns.map((column) => {
        const source = definition.columns[column];
        const label = texts.fields[column]!;
        return (
          <div key={column} className="mapped">
            <Choice
              label={label}
              value={choiceOf(source)}
              options={optionsOf(column)}
              onChange={(choice) =>
                onChange(withSource(definition, column, sourceOfChoice(choice, suggested.columns[column])))
              }
            />
            {source?.value !== undefined && (
              <Field
                label={texts.check.fixedValue(label)}
                value={source.value}
                onChange={(value) => onChange(withSource(definition, column, { value }))}
              />
            )}
          </div>
        );
      })}
    </fieldset>
  );
}
