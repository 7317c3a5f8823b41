/** Why a workbook cannot be read, in plain words for the person who chose it. */
export class WorkbookFault extends Error {
  override readonly name = 'WorkbookFault';
}
