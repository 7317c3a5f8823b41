import type { ReactNode } from 'react';
import { texts } from '../texts';

export type Direction = 'ascending' | 'descending';

export interface DataColumn<Row> {
  title: string;
  /** Content of a cell; null for none. */
  cell: (row: Row) => ReactNode;
  /** `name`: what the row is about; `number`: aligned at its end; `tight`: as narrow as its longest value. */
  kind?: 'name' | 'number' | 'tight';
  /** For columns by which the service can sort. */
  sort?: { direction: Direction | undefined; onSort: () => void };
}

interface Options<Row> {
  /** Description of the table, for screen readers. */
  label: string;
  columns: DataColumn<Row>[];
  rows: Row[];
  keyOf: (row: Row) => string | number;
  /** Class of a row, or undefined. */
  kindOf?: (row: Row) => string | undefined;
}

/** A table with one line per row; on a phone, a row is a block with a line for each of its values. */
export function DataTable<Row>({ label, columns, rows, keyOf, kindOf }: Options<Row>) {
  return (
    <div className="scroll rows" role="region" aria-label={label} tabIndex={0}>
      <table role="table">
        <thead role="rowgroup">
          <tr role="row">
            {columns.map((column) => (
              <Title key={column.title} {...column} />
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr key={keyOf(row)} role="row" className={kindOf?.(row)}>
              {columns.map(({ title, kind, cell }) => (
                <Cell key={title} title={title} kind={kind} content={cell(row)} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

// On a phone, the styles take the meaning of these elements away: their roles keep it.
function Title<Row>({ title, kind, sort }: DataColumn<Row>) {
  return (
    <th
      role="columnheader"
      scope="col"
      className={kind === 'name' ? undefined : kind}
      aria-sort={sort && (sort.direction ?? 'none')}
    >
      {sort ? (
        <button type="button" onClick={sort.onSort}>
          {title}
        </button>
      ) : (
        title
      )}
    </th>
  );
}

function Cell({ title, kind, content }: Pick<DataColumn<never>, 'title' | 'kind'> & { content: ReactNode }) {
  if (kind === 'name')
    return (
      <th role="rowheader" scope="row">
        {content}
      </th>
    );
  const isNothing = content === null || content === undefined || content === false || content === '';
  return (
    <td role="cell" data-title={title} className={`${kind ?? ''} ${isNothing ? 'nothing' : ''}`}>
      <div>{isNothing ? <span className="muted">{texts.none}</span> : content}</div>
    </td>
  );
}
