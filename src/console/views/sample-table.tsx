import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { Schemas } from '../api';
import { columns, type Definition } from '../data/mapping';
import { sampleOf, type Sample as Sampled } from '../data/sample';
import { Card } from '../parts/page';
import { Table } from '../parts/table';
import { useDeferred } from '../parts/use-deferred';
import { Value } from '../parts/value';
import { texts } from '../texts';

interface Options {
  partner: string;
  file: File;
  inspection: Schemas['FeedInspection'];
  /** How the reader wants the file read; null: as it is. */
  definition: Definition | null;
}

/** Shows five rows as products, by the suggested format or by the mapping as it is now. */
export function Sample({ partner, file, inspection, definition }: Options) {
  const settled = useDeferred(definition);
  const isChanged = definition !== null && definition !== inspection.suggested_format;
  const changed = useQuery({
    queryKey: ['sample', file.name, file.size, file.lastModified, settled],
    queryFn: () => sampleOf(partner, file, settled!),
    enabled: isChanged && settled !== null,
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    gcTime: 0,
  });
  const rows = definition ? inspection.sample : inspection.rows.slice(0, 5).map(({ values }) => values);
  const inspected: Sampled = { rows, isCleaned: true };
  const sample = isChanged ? (changed.data ?? inspected) : inspected;
  const title = sample.isCleaned ? texts.check.sample : texts.check.sampleRaw;
  return (
    <Card title={title}>
      {sample.rows.length === 0 ? (
        <p className="muted">{texts.check.sampleNone}</p>
      ) : (
        <Table label={title} columns={columns.map((column) => ({ title: texts.fields[column]! }))}>
          {sample.rows.map((row, at) => (
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
