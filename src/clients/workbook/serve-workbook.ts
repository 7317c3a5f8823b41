import type { WorkbookAnswer, WorkbookRequest } from './messages';
import { WorkbookFault } from './workbook-fault';
import { Workbook } from './workbook';

/** The worker's end of the messages. */
export interface WorkbookPort {
  post(answer: WorkbookAnswer): void;
  onMessage(listener: (request: WorkbookRequest) => void): void;
}

/** Answers the requests of a `WorkbookReader`, in a worker of its own. */
export function serveWorkbook(port: WorkbookPort): void {
  let workbook: Workbook | undefined;
  const onProgress = limited((done, total) => port.post({ kind: 'progress', done, total }));
  const answer = (request: WorkbookRequest): WorkbookAnswer => {
    if (request.kind === 'open') {
      workbook = new Workbook(request.bytes, request.fileName, onProgress);
      return { kind: 'opened', sheets: workbook.overviews };
    }
    if (!workbook) throw new WorkbookFault('No workbook is open.');
    if (request.kind === 'sheet') return { kind: 'sheet', table: workbook.table(request.options) };
    return { kind: 'csv', ...workbook.csv(request.options) };
  };
  port.onMessage((request) => port.post(orFault(() => answer(request))));
}

function orFault(answer: () => WorkbookAnswer): WorkbookAnswer {
  try {
    return answer();
  } catch (error) {
    if (!(error instanceof WorkbookFault)) throw error;
    return { kind: 'fault', message: error.message, fileKind: error.fileKind };
  }
}

const progressMilliseconds = 100;

/** Lets a report pass ten times a second. */
function limited(report: (done: number, total: number) => void) {
  let reportedAt = 0;
  return (done: number, total: number) => {
    const now = Date.now();
    if (now - reportedAt < progressMilliseconds) return;
    reportedAt = now;
    report(done, total);
  };
}
