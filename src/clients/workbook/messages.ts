import type { OtherFileKind } from './workbook-fault';
import type { SheetOptions, SheetOverview, SheetTable } from './sheet-table';

/** What the worker is asked. The first request opens the workbook. */
export type WorkbookRequest =
  | { kind: 'open'; bytes: Uint8Array; fileName: string }
  | { kind: 'sheet'; options: SheetOptions }
  | { kind: 'csv'; options: SheetOptions };

/** What the worker answers: progress any number of times, then one of the others. */
export type WorkbookAnswer =
  | WorkbookProgress
  | { kind: 'opened'; sheets: SheetOverview[] }
  | { kind: 'sheet'; table: SheetTable }
  | { kind: 'csv'; bytes: Uint8Array; fileName: string }
  /** One plain sentence or two: what is wrong with the workbook, and what to do. */
  | { kind: 'fault'; message: string; fileKind?: OtherFileKind };

/** Bytes of the workbook that the request has read, of those that it reads. */
export interface WorkbookProgress {
  kind: 'progress';
  done: number;
  total: number;
}
