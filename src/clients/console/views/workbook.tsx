import { Redirect, useLocation } from 'wouter';
import type { SheetOptions } from '../../workbook/sheet-table';
import { addressOfSheet, sheetAt, useFilters } from '../data/address';
import { removeDraft, saveDraft, useDraft, type Draft } from '../data/draft';
import { onlySheet, useWorkbook } from '../data/workbook';
import { Action } from '../parts/action';
import { Card, Loading, PageView } from '../parts/page';
import { Value } from '../parts/value';
import { WorkProgress } from '../parts/work-progress';
import { addressOf, routes } from '../routes';
import { texts } from '../texts';
import { LostFile } from './lost-file';
import { SendSteps } from './send-steps';
import { SheetList } from './sheet-list';
import { SheetView } from './sheet';
import { WorkbookProblem } from './workbook-problem';

/** Chooses a sheet of a workbook, and makes the CSV file of it, which is checked and sent. */
export function WorkbookView() {
  const draft = useDraft();
  const [, navigate] = useLocation();
  if (draft.data?.partner === '') return <Redirect to={routes.send} replace />;
  if (draft.data === null) return <LostFile />;
  if (draft.data && !draft.data.workbook) return <Redirect to={routes.check} replace />;
  const keep = async (chosen: Draft) => {
    await saveDraft(chosen);
    await draft.refetch();
    navigate(routes.check);
  };
  return (
    <PageView
      title={texts.workbook.title}
      lead={
        draft.data && (
          <>
            <Value>{draft.data.workbook?.name}</Value> {texts.workbook.of} <Value>{draft.data.partner}</Value>
          </>
        )
      }
    >
      <SendSteps at="file" partner={draft.data?.partner} />
      {draft.data?.workbook ? (
        <Sheets draft={draft.data} workbook={draft.data.workbook} onChoose={keep} />
      ) : (
        <Loading />
      )}
    </PageView>
  );
}

interface Options {
  draft: Draft;
  workbook: File;
  /** Called with the CSV file of the chosen sheet. */
  onChoose: (chosen: Draft) => Promise<void>;
}

function Sheets({ draft, workbook, onChoose }: Options) {
  const [, navigate] = useLocation();
  const [read] = useFilters();
  const { opened, share, error } = useWorkbook(workbook);
  const leave = async () => {
    await removeDraft();
    navigate(addressOf('send', { partner: draft.partner }));
  };
  const working = (label: string) => <Working label={label} share={share} onCancel={() => void leave()} />;
  if (error)
    return (
      <WorkbookProblem name={workbook.name} error={error}>
        <Action kind="primary" onPress={() => void leave()}>
          {texts.workbook.another}
        </Action>
      </WorkbookProblem>
    );
  if (!opened) return <Card>{working(texts.workbook.opening)}</Card>;
  const { sheets, reader } = opened;
  const options = sheetAt(read) ?? onlySheet(sheets);
  const change = (changed: SheetOptions) => navigate(addressOfSheet(changed), { replace: true });
  return (
    <>
      <SheetList
        sheets={sheets}
        chosen={options?.sheet}
        onChoose={(sheet) => change({ sheet })}
        onLeave={() => void leave()}
      />
      {options && (
        <SheetView
          key={options.sheet}
          workbook={workbook}
          reader={reader}
          options={options}
          working={working}
          onChange={change}
          onCheck={(file) => onChoose({ ...draft, file, sheet: options })}
        />
      )}
    </>
  );
}

interface WorkingOptions {
  label: string;
  /** Part that is done, 0 to 1; undefined: unknown. */
  share: number | undefined;
  onCancel: () => void;
}

/** Shows the progress of the worker. To cancel it is to leave the view. */
function Working({ label, share, onCancel }: WorkingOptions) {
  return (
    <>
      <WorkProgress label={label} percent={share && 100 * share} />
      <Action onPress={onCancel}>{texts.cancel}</Action>
    </>
  );
}
