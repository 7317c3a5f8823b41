import type { WorkbookAnswer, WorkbookRequest } from '../../../../src/clients/workbook/messages';
import { serveWorkbook } from '../../../../src/clients/workbook/serve-workbook';
import {
  WorkbookReader,
  type WorkbookReaderOptions,
  type WorkbookWorker,
} from '../../../../src/clients/workbook/workbook-reader';
import { workbookFile } from '../../../support/workbooks';

/** A worker in this thread, which can be silent or fail. */
class TestWorker implements WorkbookWorker {
  isTerminated = false;
  readonly requests: WorkbookRequest[] = [];
  fail: () => void = () => undefined;
  private ask: (request: WorkbookRequest) => void = () => undefined;
  private answer: (answer: WorkbookAnswer) => void = () => undefined;

  constructor(private readonly isSilent = false) {
    serveWorkbook({
      post: (answer) => this.answer(answer),
      onMessage: (listener) => (this.ask = listener),
    });
  }

  post(request: WorkbookRequest): void {
    this.requests.push(request);
    if (!this.isSilent) setImmediate(() => this.ask(request));
  }

  report(done: number): void {
    this.answer({ kind: 'progress', done, total: 10 });
  }

  onMessage(listener: (answer: WorkbookAnswer) => void): void {
    this.answer = listener;
  }

  onFailure(listener: () => void): void {
    this.fail = listener;
  }

  terminate(): void {
    this.isTerminated = true;
  }
}

const file = workbookFile({
  sheets: [
    {
      name: 'Products',
      rows: [
        ['sku', 'name'],
        ['A1', 'Cup'],
      ],
    },
    { name: 'Empty' },
  ],
});

function readerOf(worker: TestWorker, options?: WorkbookReaderOptions): WorkbookReader {
  return new WorkbookReader(worker, options);
}

it('lists the sheets of a workbook, shows one, and makes its CSV file', async () => {
  const worker = new TestWorker();
  const reader = readerOf(worker);
  const sheets = reader.open('feed.xlsx', file);
  // Without waiting for the one before.
  const table = reader.sheet({ sheet: 'Products' });
  const csv = reader.csv({ sheet: 'Products' });
  expect((await sheets).map(({ name }) => name)).toEqual(['Products', 'Empty']);
  expect(await table).toMatchObject({ headerRow: 1, rowCount: 1, columns: ['sku', 'name'] });
  const { bytes, fileName } = await csv;
  expect([fileName, Buffer.from(bytes).toString()]).toEqual(['feed - Products.csv', 'sku,name\nA1,Cup\n']);
  reader.close();
  expect(worker.isTerminated).toBe(true);
});

it('rejects with the sentence of a fault, and answers further requests', async () => {
  const reader = readerOf(new TestWorker());
  await reader.open('feed.xlsx', file);
  await expect(reader.sheet({ sheet: 'Other' })).rejects.toThrow(
    'The workbook has no sheet Other. Its sheets: Products, Empty.',
  );
  await expect(reader.csv({ sheet: 'Empty' })).rejects.toThrow(
    'The sheet Empty is empty. Choose another one.',
  );
  expect(await reader.sheet({ sheet: 'Products' })).toMatchObject({ rowCount: 1 });
  reader.close();
});

it('terminates a worker that is silent for too long, but not while it reports progress', async () => {
  jest.useFakeTimers();
  try {
    const worker = new TestWorker(true);
    const progress: number[] = [];
    const reader = readerOf(worker, { onProgress: ({ done }) => progress.push(done) });
    const opened = expect(reader.open('feed.xlsx', file)).rejects.toThrow(
      'Reading the workbook takes too long. Save the sheet in Excel as CSV UTF-8 (.csv), and use that file.',
    );
    await jest.advanceTimersByTimeAsync(59_000);
    worker.report(5);
    await jest.advanceTimersByTimeAsync(59_000);
    expect(worker.isTerminated).toBe(false);
    await jest.advanceTimersByTimeAsync(1_000);
    await opened;
    expect([progress, worker.isTerminated]).toEqual([[5], true]);
  } finally {
    jest.useRealTimers();
  }
});

it('terminates the worker when its signal aborts, and rejects with the reason', async () => {
  const worker = new TestWorker(true);
  const abort = new AbortController();
  const reader = readerOf(worker, { signal: abort.signal });
  const opened = reader.open('feed.xlsx', file);
  const sheet = reader.sheet({ sheet: 'Products' });
  const reason = new Error('cancelled');
  setImmediate(() => abort.abort(reason));
  await expect(opened).rejects.toBe(reason);
  await expect(sheet).rejects.toBe(reason);
  expect(worker.isTerminated).toBe(true);
  const late = readerOf(new TestWorker(), { signal: abort.signal });
  await expect(late.open('feed.xlsx', file)).rejects.toBe(reason);
});

it('rejects with a sentence when the worker fails, as it does without memory', async () => {
  const worker = new TestWorker(true);
  const opened = readerOf(worker).open('feed.xlsx', file);
  setImmediate(() => worker.fail());
  await expect(opened).rejects.toThrow('The workbook is too large to read here.');
});
