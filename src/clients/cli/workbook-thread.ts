import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import type { WorkbookAnswer, WorkbookRequest } from '../workbook/messages';
import type { WorkbookWorker } from '../workbook/workbook-reader';

/** Tells the thread what it is for: bundled, its file is the whole command. */
const mark = 'read a workbook';

/** Starts a thread that reads a workbook, from this file or the one that it is bundled in. */
export function startWorkbookThread(): WorkbookWorker {
  const thread = new Worker(__filename, { workerData: mark, stderr: true });
  return {
    post: (request) => thread.postMessage(request),
    onMessage: (listener) => thread.on('message', (answer: WorkbookAnswer) => listener(answer)),
    onFailure: (listener) => thread.on('error', listener).on('exit', listener),
    terminate: () => void thread.terminate(),
  };
}

async function serve(): Promise<void> {
  // Loaded here: other commands start without the packages that read workbooks.
  const { serveWorkbook } = await import('../workbook/serve-workbook.js');
  const port = parentPort!;
  serveWorkbook({
    post: (answer) => port.postMessage(answer),
    onMessage: (listener) => port.on('message', (request: WorkbookRequest) => listener(request)),
  });
}

if (!isMainThread && workerData === mark) void serve();
