import { columnLetters } from '../../workbook/cell-place';
import type { SheetTable } from '../../workbook/sheet-table';
import { ScrollTable } from '../parts/scroll-table';
import { Value } from '../parts/value';
import { texts } from '../texts';

interface Options {
  preview: SheetTable['preview'];
  headerRow: number;
  onChooseHeader: (row: number) => void;
}

/** The first rows of a sheet, to see and choose the one with the names of the columns. */
export function SheetPreview({ preview, headerRow, onChooseHeader }: Options) {
  const width = Math.max(0, ...preview.map(({ cells }) => cells.length));
  const columns = Array.from({ length: width }, (_, at) => columnLetters(at));
  return (
    <>
      <p className="muted">{texts.workbook.headerLead}</p>
      <ScrollTable
        label={texts.workbook.preview}
        columns={[texts.workbook.header, ...columns].map((title) => ({ title }))}
      >
        {preview.map(({ row, cells }) => (
          <tr key={row} className={`sheet-row ${rowKind(row, headerRow)}`}>
            <th scope="row" className="line">
              <label className="check">
                <input
                  type="radio"
                  name="header-row"
                  aria-label={texts.workbook.headerAt(row)}
                  checked={row === headerRow}
                  onChange={() => onChooseHeader(row)}
                />
                {row}
              </label>
            </th>
            {columns.map((column, at) => (
              <td key={column}>{cells[at] && <Value>{cells[at]}</Value>}</td>
            ))}
          </tr>
        ))}
      </ScrollTable>
    </>
  );
}

const rowKind = (row: number, headerRow: number) =>
  row === headerRow ? 'header-row' : row < headerRow ? 'left-out' : '';
