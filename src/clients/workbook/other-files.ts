import { beginsAsOle, beginsAsZip, beginsWith } from './file-kind';
import { hasPassword } from './zip-archive';
import { WorkbookFault } from './workbook-fault';

/** Refuses a file that is no ZIP archive. @throws WorkbookFault that says what it is */
export function refuseOther(bytes: Uint8Array): void {
  if (bytes.length === 0) throw new WorkbookFault('The file is empty. Use another one.');
  if (beginsAsZip(bytes)) return;
  if (beginsAsOle(bytes)) {
    if (includes(bytes, encryptedPackage)) throw new WorkbookFault(hasPassword);
    throw new WorkbookFault(
      'This is a workbook of Excel 97-2003 (.xls). Save it in Excel as Excel Workbook (.xlsx).',
      'excel_97_workbook',
    );
  }
  throw new WorkbookFault(
    'This file is no Excel workbook (.xlsx), although its name says so. If it is text, name it .csv; else save it again in Excel.',
  );
}

/** Name of the stream with the encrypted workbook, in UTF-16. */
const encryptedPackage = [...'EncryptedPackage'].flatMap((letter) => [letter.charCodeAt(0), 0]);

function includes(bytes: Uint8Array, sought: readonly number[]): boolean {
  for (let at = bytes.indexOf(sought[0]!); at !== -1; at = bytes.indexOf(sought[0]!, at + 1))
    if (beginsWith(bytes, sought, at)) return true;
  return false;
}
