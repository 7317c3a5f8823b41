import { stringify } from 'csv-stringify/browser/esm/sync';
import { saveFile } from '../api';
import { texts } from '../texts';
import { Action } from './action';
import { ScrollTable } from './scroll-table';
import { Value } from './value';

interface Options {
  label: string;
  /** The first is a name, the others are numbers. */
  columns: string[];
  /** Each with its raw values, for the download, and formatted for the user's locale. */
  rows: { values: (string | number)[]; shown: string[] }[];
}

/** The table behind a chart, and its download. */
export function Figures({ label, columns, rows }: Options) {
  const save = () => {
    // A spreadsheet must not interpret a name as a formula.
    const csv = stringify([columns, ...rows.map(({ values }) => values)], { escape_formulas: true });
    saveFile(new Blob([csv], { type: 'text/csv' }), `${label}.csv`);
  };
  return (
    <details>
      <summary>{texts.sales.table}</summary>
      <ScrollTable label={label} columns={columns.map((title, at) => ({ title, isNumber: at > 0 }))}>
        {rows.map(({ shown: [name, ...numbers] }) => (
          <tr key={name}>
            <th scope="row">
              <Value>{name}</Value>
            </th>
            {numbers.map((number, at) => (
              <td key={at} className="number">
                {number}
              </td>
            ))}
          </tr>
        ))}
      </ScrollTable>
      <Action onPress={save}>{texts.sales.download}</Action>
    </details>
  );
}
