/** Why a workbook cannot be read, in plain words for the person who chose it. */
export class WorkbookFault extends Error {
  override readonly name = 'WorkbookFault';

  /** @param fileKind - what the file is instead of a workbook, if there are steps to make one of it */
  constructor(
    message: string,
    readonly fileKind?: OtherFileKind,
  ) {
    super(message);
  }
}

/** Files that a person takes for a workbook; the names of those that an inspection knows are the same there. */
export type OtherFileKind = 'excel_97_workbook' | 'opendocument_spreadsheet' | 'numbers' | 'zip';
