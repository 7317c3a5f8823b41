import type { SheetOverview } from '../../workbook/sheet-table';
import { Action } from '../parts/action';
import { Card } from '../parts/page';
import { Value } from '../parts/value';
import { texts } from '../texts';

interface Options {
  sheets: SheetOverview[];
  /** Name of the chosen sheet. */
  chosen: string | undefined;
  onChoose: (sheet: string) => void;
  /** Leaves the workbook. */
  onLeave: () => void;
}

/** The sheets of a workbook, to choose one. */
export function SheetList({ sheets, chosen, onChoose, onLeave }: Options) {
  return (
    <Card title={texts.workbook.sheets} actions={<Action onPress={onLeave}>{texts.workbook.another}</Action>}>
      <ul className="reasons sheets">
        {sheets.map(({ name, rowCount, isHidden }) => (
          <li key={name}>
            <button type="button" aria-pressed={name === chosen} onClick={() => onChoose(name)}>
              <strong>
                <Value>{name}</Value>
              </strong>
              <span className="muted">{texts.workbook.rows(rowCount)}</span>
              {isHidden && <span className="badge">{texts.workbook.hidden}</span>}
            </button>
          </li>
        ))}
      </ul>
    </Card>
  );
}
