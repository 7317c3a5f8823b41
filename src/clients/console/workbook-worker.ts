import { serveWorkbook } from '../workbook/serve-workbook';
import type { WorkbookRequest } from '../workbook/messages';

// The script of the worker of a workbook: apart from the console, as few visits need it.
serveWorkbook({
  post: (answer) => postMessage(answer, { transfer: answer.kind === 'csv' ? [answer.bytes.buffer] : [] }),
  onMessage(listener) {
    onmessage = ({ data }: MessageEvent<WorkbookRequest>) => listener(data);
  },
});
