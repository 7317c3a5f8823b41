import { productColumns } from '../../../feed-format/columns';
import type { Schemas } from '../api';
import { Card } from '../parts/page';
import { ScrollTable } from '../parts/scroll-table';
import { Value } from '../parts/value';
import { texts } from '../texts';

type Product = Schemas['CleanedValues'];

const shownRows = 5;

/** The first rows, as products by the reading of an inspection. */
export const sampleRows = ({ rows }: Schemas['FeedInspection']) =>
  rows.slice(0, shownRows).map(({ values }) => values);

/** Shows the first rows as products, in a card. */
export function Sample({ rows }: { rows: Product[] }) {
  const title = texts.check.sample;
  return (
    <Card title={title}>
      {rows.length === 0 ? (
        <p className="muted">{texts.check.sampleNone}</p>
      ) : (
        <ProductRows label={title} rows={rows} />
      )}
    </Card>
  );
}

/** Rows as products, with the columns that have values. */
export function ProductRows({ label, rows }: { label: string; rows: Product[] }) {
  const columns = productColumns.filter((column) => rows.some((row) => row[column]));
  return (
    <ScrollTable
      label={label}
      columns={columns.map((column) => ({ title: texts.fields[column]!, isNumber: column === 'price' }))}
    >
      {rows.map((row, at) => (
        <tr key={at}>
          {columns.map((column) => (
            <td key={column} className={column === 'price' ? 'number' : undefined}>
              <Value>{shownValue(column, row[column])}</Value>
            </td>
          ))}
        </tr>
      ))}
    </ScrollTable>
  );
}

const shownValue = (column: keyof Product, value: string | null) =>
  column === 'availability' && value ? (texts.availabilities[value] ?? value) : value;
