import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '../api';
import { columns, sampleOf, type Column, type Definition } from '../data/mapping';
import { Card } from '../parts/page';
import { Table } from '../parts/table';
import { Value } from '../parts/value';
import { texts } from '../texts';

interface Options {
  file: File;
  inspection: Schemas['FeedInspection'];
  /** How the reader wants the file read; null: as it is. */
  definition: Definition | null;
}

/** Shows five rows as products: cleaned by the service, or as the changed mapping reads them. */
export function Sample({ file, inspection, definition }: Options) {
  const isSuggested = definition === inspection.suggested_format;
  const own = useQuery({
    queryKey: ['sample', file.name, file.size, file.lastModified, definition],
    queryFn: () => sampleOf(file, definition!),
    enabled: definition !== null && !isSuggested,
  });
  const cleaned = definition ? inspection.sample : inspection.rows.slice(0, 5).map(({ values }) => values);
  const rows: Partial<Record<Column, string | null>>[] =
    definition && !isSuggested ? (own.data ?? []) : cleaned;
  const title = definition && !isSuggested ? texts.check.sampleRaw : texts.check.sample;
  return (
    <Card title={title}>
      {rows.length === 0 ? (
        <p className="muted">{texts.check.sampleNone}</p>
      ) : (
        <Table label={title} columns={columns.map((column) => ({ title: texts.fields[column]! }))}>
          {rows.map((row, at) => (
            <tr key={at}>
              {columns.map((column) => (
                <td key={column}>
                  <Value>{row[column]}</Value>
                </td>
              ))}
            </tr>
          ))}
        </Table>
      )}
    </Card>
  );
}
