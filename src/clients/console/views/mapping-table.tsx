import { productColumns } from '../../../feed-format/columns';
import type { Schemas } from '../api';
import {
  choiceOf,
  sourceOfChoice,
  unusedHeaders,
  withSource,
  type ColumnName,
  type Definition,
} from '../data/mapping';
import { Choice, Field } from '../parts/field';
import { DataTable } from '../parts/table';
import { Value } from '../parts/value';
import { texts } from '../texts';

interface Options {
  headers: Schemas['InspectedHeader'][];
  /** The definition without changes. */
  suggested: Definition;
  definition: Definition;
  /** The first rows as products, for examples. */
  products: Schemas['CleanedValues'][];
  onChange: (definition: Definition) => void;
}

/** Chooses the source of the values of each column, with the first of these values. */
export function Mapping({ headers, suggested, definition, products, onChange }: Options) {
  const unused = unusedHeaders(headers, definition);
  const cellOf = (column: ColumnName) => (
    <Source
      column={column}
      options={optionsOf(column, headers, { suggested, definition })}
      source={definition.columns[column]}
      onChoose={(choice) =>
        onChange(withSource(definition, column, sourceOfChoice(choice, suggested.columns[column])))
      }
      onEnter={(value) => onChange(withSource(definition, column, { value }))}
    />
  );
  return (
    <>
      <DataTable
        label={texts.check.mapping}
        rows={[...productColumns]}
        keyOf={(column) => column}
        columns={[
          { title: texts.check.column, kind: 'name', cell: (column) => texts.fields[column] },
          { title: texts.check.source, cell: cellOf },
          { title: texts.check.examples, cell: (column) => examplesOf(column, products) },
        ]}
      />
      {unused.length > 0 && (
        <p className="muted">
          {texts.check.unused} <Value>{unused.join(', ')}</Value>
        </p>
      )}
    </>
  );
}

interface SourceOptions {
  column: ColumnName;
  options: [value: string, text: string][];
  source: Schemas['ColumnSource'] | undefined;
  onChoose: (choice: string) => void;
  onEnter: (value: string) => void;
}

function Source({ column, options, source, onChoose, onEnter }: SourceOptions) {
  const label = texts.fields[column]!;
  return (
    <div className="mapped">
      <Choice isLabelHidden label={label} value={choiceOf(source)} options={options} onChange={onChoose} />
      {source?.value !== undefined && (
        <Field label={texts.check.fixedValue(label)} value={source.value} onChange={onEnter} />
      )}
    </div>
  );
}

function optionsOf(
  column: ColumnName,
  headers: Schemas['InspectedHeader'][],
  { suggested, definition }: Pick<Options, 'suggested' | 'definition'>,
): [value: string, text: string][] {
  const source = suggested.columns[column];
  const current = choiceOf(definition.columns[column]);
  const offered: [string, string][] = [
    ['', texts.check.absent],
    ...headers.flatMap(({ header, column_number }): [string, string][] => {
      if (definition.header === false) return [[`position:${column_number}`, `${column_number}`]];
      // No format can name a column without a header.
      return header === '' ? [] : [[`from:${header}`, header]];
    }),
    ['value', texts.check.fixed],
  ];
  if (source?.join) offered.push(['join', texts.check.joined(source.join.join(', '))]);
  if (source?.quantity) offered.push(['quantity', texts.check.quantity(source.quantity.from.join(', '))]);
  // The suggestion may spell a header differently.
  if (!offered.some(([value]) => value === current))
    offered.push([current, current.slice(current.indexOf(':') + 1)]);
  return offered;
}

const shownValues = 3;

function examplesOf(column: ColumnName, products: Schemas['CleanedValues'][]) {
  const values = products.map((product) => product[column]).filter((value) => value !== null && value !== '');
  const shown = [...new Set(values)].slice(0, shownValues);
  if (shown.length === 0) return null;
  return (
    <span className="examples">
      {shown.map((value) => (
        <span key={value} className="example">
          <Value>{column === 'availability' ? (texts.availabilities[value!] ?? value) : value}</Value>
        </span>
      ))}
    </span>
  );
}
