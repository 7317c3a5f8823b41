import type { WorkbookAnswer, WorkbookRequest } from './messages';
import { WorkbookFault } from './workbook-fault';

/** The worker's end of the messages. */
export interface WorkbookPort {
  post(answer: WorkbookAnswer): void;
  onMessage(listener: (request: WorkbookRequest) => void): void;
}

/** Answers the requests of a `WorkbookReader`, in a worker of its own. */
export function serveWorkbook(port: WorkbookPort): void {
  port.onMessage(() => {
    throw new WorkbookFault('Workbooks cannot be read yet.');
  });
}
