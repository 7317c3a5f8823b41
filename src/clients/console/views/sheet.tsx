import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { SheetOptions, SheetTable } from '../../workbook/sheet-table';
import type { WorkbookReader } from '../../workbook/workbook-reader';
import { saveFile } from '../api';
import { makeCsv } from '../data/workbook';
import { Action } from '../parts/action';
import { Check } from '../parts/check';
import { Card } from '../parts/page';
import { useDeferred } from '../parts/use-deferred';
import { Value, visible } from '../parts/value';
import { texts } from '../texts';
import { SheetPreview } from './sheet-preview';
import { WorkbookProblem } from './workbook-problem';

interface Options {
  workbook: File;
  reader: WorkbookReader;
  options: SheetOptions;
  /** Shows that the worker is busy. @param label - with what */
  working: (label: string) => ReactNode;
  onChange: (options: SheetOptions) => void;
  /** Called with the CSV file of the sheet. */
  onCheck: (file: File) => Promise<void>;
}

/** A sheet as it is read, the ways to read it otherwise, and the CSV file of it. */
export function SheetView({ workbook, reader, options, working, onChange, onCheck }: Options) {
  const { name, size, lastModified } = workbook;
  const wanted = JSON.stringify(options);
  // A key that moves through the rows chooses each of them.
  const settled = useDeferred(wanted);
  const table = useQuery({
    queryKey: ['sheet', name, size, lastModified, settled],
    queryFn: () => reader.sheet(JSON.parse(settled) as SheetOptions),
    placeholderData: keepPreviousData,
    retry: false,
    staleTime: Infinity,
    gcTime: 0,
  });
  const csv = useMutation({
    mutationFn: async (use: (file: File) => void | Promise<void>) => use(await makeCsv(reader, options)),
  });
  const change = (changed: SheetOptions) => {
    csv.reset();
    onChange(changed);
  };
  const isBehind = settled !== wanted || table.isPlaceholderData;
  if (table.error) return <WorkbookProblem name={options.sheet} error={table.error} />;
  if (!table.data) return <Card>{working(texts.workbook.reading)}</Card>;
  return (
    <Card
      title={visible(options.sheet)}
      actions={
        isBehind && (
          <span role="status" className="muted">
            {texts.workbook.reading}
          </span>
        )
      }
    >
      <SheetFacts table={table.data} />
      <SheetSettings table={table.data} options={options} onChange={change} />
      <SheetPreview
        preview={table.data.preview}
        headerRow={options.headerRow ?? table.data.headerRow}
        onChooseHeader={(headerRow) => change({ ...options, headerRow })}
      />
      {csv.error && <WorkbookProblem name={options.sheet} error={csv.error} />}
      {csv.isPending ? (
        working(texts.workbook.making)
      ) : (
        <div className="actions">
          <Action kind="primary" onPress={() => csv.mutate(onCheck)}>
            {texts.workbook.check}
          </Action>
          <Action onPress={() => csv.mutate((file) => saveFile(file, file.name))}>
            {texts.workbook.save}
          </Action>
        </div>
      )}
    </Card>
  );
}

/** What the CSV file will contain, and what to know about it. */
function SheetFacts({ table }: { table: SheetTable }) {
  const { rowCount, columns, notes } = table;
  return (
    <>
      <p className="muted">{texts.workbook.facts(rowCount, columns.length)}</p>
      {notes.length > 0 && (
        <ul>
          {notes.map((note) => (
            <li key={note}>
              <Value>{note}</Value>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

interface SettingsOptions {
  table: SheetTable;
  options: SheetOptions;
  onChange: (options: SheetOptions) => void;
}

function SheetSettings({ table, options, onChange }: SettingsOptions) {
  const { hiddenRows, hiddenColumns, currency } = table;
  const { withHidden = true, withCurrency = true } = options;
  return (
    <>
      {(hiddenRows > 0 || hiddenColumns.length > 0) && (
        <Check
          label={texts.workbook.withHidden}
          isChecked={withHidden}
          onChange={(isChecked) => onChange({ ...options, withHidden: isChecked })}
        />
      )}
      {currency && (
        <Check
          label={texts.workbook.withCurrency(currency.codes)}
          isChecked={withCurrency}
          onChange={(isChecked) => onChange({ ...options, withCurrency: isChecked })}
        />
      )}
    </>
  );
}
