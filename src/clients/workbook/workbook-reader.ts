import type { WorkbookProgress, WorkbookAnswer, WorkbookRequest } from './messages';
import type { SheetOptions, SheetOverview, SheetTable } from './sheet-table';
import { WorkbookFault } from './workbook-fault';

/** A Web Worker, or a thread of Node.js, that runs `serveWorkbook`. */
export interface WorkbookWorker {
  post(request: WorkbookRequest): void;
  onMessage(listener: (answer: WorkbookAnswer) => void): void;
  /** Calls back if the worker fails or ends, as it does without memory. */
  onFailure(listener: () => void): void;
  terminate(): void;
}

export interface WorkbookReaderOptions {
  onProgress?: (progress: WorkbookProgress) => void;
  /** Terminates the worker; what is pending rejects with its reason. */
  signal?: AbortSignal;
  /** Time without a message from the worker after which it is terminated. */
  silenceMilliseconds?: number;
}

/** A workbook read by a worker. Calls are answered one after the other. */
export class WorkbookReader {
  private pending: { resolve(answer: WorkbookAnswer): void; reject(error: unknown): void } | undefined;
  private last: Promise<unknown> = Promise.resolve();
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** Why the worker has ended. */
  private end: { reason: unknown } | undefined;

  constructor(
    private readonly worker: WorkbookWorker,
    private readonly options: WorkbookReaderOptions = {},
  ) {
    worker.onMessage((answer) => this.receive(answer));
    worker.onFailure(() => this.close(new WorkbookFault(tooLarge)));
    const { signal } = options;
    const abort = () => this.close(signal!.reason);
    if (signal?.aborted) abort();
    else signal?.addEventListener('abort', abort, { once: true });
  }

  /** Opens the workbook, and lists its sheets. @throws WorkbookFault, or the reason of the signal */
  async open(fileName: string, bytes: Uint8Array): Promise<SheetOverview[]> {
    return (await this.ask({ kind: 'open', bytes, fileName }, 'opened')).sheets;
  }

  /** Shows the CSV file that a sheet would become. @throws as `open` */
  async sheet(options: SheetOptions): Promise<SheetTable> {
    return (await this.ask({ kind: 'sheet', options }, 'sheet')).table;
  }

  /** Writes a sheet as a CSV file in UTF-8. @throws as `open` */
  async csv(options: SheetOptions): Promise<{ bytes: Uint8Array; fileName: string }> {
    return this.ask({ kind: 'csv', options }, 'csv');
  }

  /** Terminates the worker; what is pending rejects. Safe to call again. */
  close(reason: unknown = new WorkbookFault('The workbook is closed.')): void {
    if (this.end) return;
    this.end = { reason };
    clearTimeout(this.timer);
    this.worker.terminate();
    this.pending?.reject(reason);
    this.pending = undefined;
  }

  private ask<K extends WorkbookAnswer['kind']>(request: WorkbookRequest, kind: K) {
    type Expected = Extract<WorkbookAnswer, { kind: K }>;
    const answer = this.last.then(async () => {
      const received = await this.send(request);
      if (received.kind === 'fault') throw new WorkbookFault(received.message, received.fileKind);
      if (received.kind !== kind) throw new Error(`The worker answered ${received.kind} instead of ${kind}.`);
      return received as Expected;
    });
    this.last = answer.catch(() => undefined);
    return answer;
  }

  private send(request: WorkbookRequest): Promise<WorkbookAnswer> {
    return new Promise((resolve, reject) => {
      if (this.end) return reject(this.end.reason);
      this.pending = { resolve, reject };
      this.expectMessage();
      this.worker.post(request);
    });
  }

  private receive(answer: WorkbookAnswer): void {
    if (this.end) return;
    if (answer.kind === 'progress') {
      this.expectMessage();
      this.options.onProgress?.(answer);
      return;
    }
    clearTimeout(this.timer);
    this.pending?.resolve(answer);
    this.pending = undefined;
  }

  private expectMessage(): void {
    clearTimeout(this.timer);
    const milliseconds = this.options.silenceMilliseconds ?? silenceMilliseconds;
    this.timer = setTimeout(() => this.close(new WorkbookFault(tooSlow)), milliseconds);
  }
}

const silenceMilliseconds = 60_000;

const advice = 'Save the sheet in Excel as CSV UTF-8 (.csv), and use that file.';
const tooSlow = `Reading the workbook takes too long. ${advice}`;
const tooLarge = `The workbook is too large to read here. ${advice}`;
