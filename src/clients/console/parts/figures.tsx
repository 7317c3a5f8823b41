import { stringify } from 'csv-stringify/browser/esm/sync';
import type { ReactNode } from 'react';
import { saveFile } from '../api';
import { count, money } from '../locale';
import { texts } from '../texts';
import { Action } from './action';
import { DataTable, type DataColumn } from './table';

export interface Figure<Row> extends Pick<DataColumn<Row>, 'title' | 'kind'> {
  /** The raw value, for the download. */
  value: (row: Row) => string | number;
  /** The value as it is shown, for the user's locale. */
  cell: (row: Row) => ReactNode;
}

interface Options<Row> {
  label: string;
  columns: Figure<Row>[];
  rows: Row[];
  keyOf: (row: Row) => string;
}

/** The table behind a chart, and its download. */
export function Figures<Row>({ label, columns, rows, keyOf }: Options<Row>) {
  return (
    <details>
      <summary>{texts.sales.table}</summary>
      <DataTable label={label} columns={columns} rows={rows} keyOf={keyOf} />
      <DownloadFigures label={label} columns={columns} rows={rows} />
    </details>
  );
}

/** Saves figures as a file for a spreadsheet. */
export function DownloadFigures<Row>({ label, columns, rows }: Omit<Options<Row>, 'keyOf'>) {
  const save = () => {
    const records = rows.map((row) => columns.map(({ value }) => value(row)));
    // A spreadsheet must not interpret a name as a formula.
    const csv = stringify([columns.map(({ title }) => title), ...records], { escape_formulas: true });
    saveFile(new Blob([csv], { type: 'text/csv' }), `${label}.csv`);
  };
  return <Action onPress={save}>{texts.sales.download}</Action>;
}

/** Returns the columns of units and sales. */
export function salesColumns<Row extends { units_sold: number; total_sales: string }>(
  currency: string,
): Figure<Row>[] {
  return [
    {
      title: texts.sales.units,
      kind: 'number',
      value: ({ units_sold }) => units_sold,
      cell: ({ units_sold }) => count(units_sold),
    },
    {
      title: texts.sales.total,
      kind: 'number',
      value: ({ total_sales }) => total_sales,
      cell: ({ total_sales }) => money(total_sales, currency),
    },
  ];
}
