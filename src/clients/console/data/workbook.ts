import { useEffect, useState } from 'react';
import { beginsAsOle, beginsAsZip, isWorkbookName } from '../../workbook/file-kind';
import type { WorkbookAnswer } from '../../workbook/messages';
import type { SheetOptions, SheetOverview } from '../../workbook/sheet-table';
import { WorkbookReader, type WorkbookWorker } from '../../workbook/workbook-reader';
import { root } from '../api';
import { texts } from '../texts';

/** Returns whether a file is a workbook, by its name or its first bytes. */
export async function isWorkbook(file: File): Promise<boolean> {
  if (isWorkbookName(file.name)) return true;
  const beginning = new Uint8Array(await file.slice(0, 4).arrayBuffer());
  return beginsAsZip(beginning) || beginsAsOle(beginning);
}

/** The script of the worker, by the page: its address contains its digest. */
const script = new URL(document.getElementById('console')!.dataset.workbookWorker!, root);

/** Starts a worker, which loads its script. */
function startWorker(): WorkbookWorker {
  const worker = new Worker(script, { type: 'module' });
  return {
    post: (request) => worker.postMessage(request, request.kind === 'open' ? [request.bytes.buffer] : []),
    onMessage(listener) {
      worker.onmessage = ({ data }: MessageEvent<WorkbookAnswer>) => listener(data);
      worker.addEventListener('error', (event) => {
        // Without an error of the script: the script was not loaded.
        if (!('error' in event)) listener({ kind: 'fault', message: texts.failure.offline });
      });
    },
    onFailure: (listener) => worker.addEventListener('error', listener),
    terminate: () => worker.terminate(),
  };
}

/** An open workbook: its sheets, and the reader of them. */
export interface OpenWorkbook {
  sheets: SheetOverview[];
  reader: WorkbookReader;
}

/**
 * Opens a workbook in a worker, which ends with the view.
 * @returns the open workbook, or why it cannot be opened; and the part of the current request that is done, 0 to 1
 */
export function useWorkbook(file: File) {
  const [share, setShare] = useState<number>();
  const [opened, setOpened] = useState<OpenWorkbook>();
  const [error, setError] = useState<Error>();
  useEffect(() => {
    const ending = new AbortController();
    const open = async () => {
      const bytes = new Uint8Array(await file.arrayBuffer());
      ending.signal.throwIfAborted();
      const reader = new WorkbookReader(startWorker(), {
        onProgress: ({ done, total }) => setShare(done < total ? done / total : undefined),
        signal: ending.signal,
      });
      setOpened({ reader, sheets: await reader.open(file.name, bytes) });
    };
    open().catch((fault: unknown) => ending.signal.aborted || setError(fault as Error));
    return () => ending.abort();
    // The browser makes another object of the same file each time.
  }, [file.name, file.size, file.lastModified]);
  return { share, opened, error };
}

/** Returns the only visible sheet with rows; null if there are several, or none. */
export function onlySheet(sheets: SheetOverview[]): SheetOptions | null {
  const [first, second] = sheets.filter(({ isHidden, rowCount }) => !isHidden && rowCount > 0);
  return first && !second ? { sheet: first.name } : null;
}

/** Makes the CSV file of a sheet. */
export async function makeCsv(reader: WorkbookReader, options: SheetOptions): Promise<File> {
  const { bytes, fileName } = await reader.csv(options);
  // A message has no shared memory.
  return new File([bytes as Uint8Array<ArrayBuffer>], fileName, { type: 'text/csv' });
}
