import { productColumns } from '../../../feed-format/columns';
import type { Schemas } from '../api';
import { Card } from '../parts/page';
import { ScrollTable } from '../parts/scroll-table';
import { Value } from '../parts/value';
import { texts } from '../texts';

const shownRows = 5;

/** The first rows, as products by the reading of an inspection. */
export const sampleRows = ({ rows }: Schemas['FeedInspection']) =>
  rows.slice(0, shownRows).map(({ values }) => values);

export function Sample({ rows }: { rows: Schemas['CleanedValues'][] }) {
  const title = texts.check.sample;
  return (
    <Card title={title}>
      {rows.length === 0 ? (
        <p className="muted">{texts.check.sampleNone}</p>
      ) : (
        <ScrollTable
          label={title}
          columns={productColumns.map((column) => ({ title: texts.fields[column]! }))}
        >
          {rows.map((row, at) => (
            <tr key={at}>
              {productColumns.map((column) => (
                <td key={column}>
                  <Value>{row[column]}</Value>
                </td>
              ))}
            </tr>
          ))}
        </ScrollTable>
      )}
    </Card>
  );
}
