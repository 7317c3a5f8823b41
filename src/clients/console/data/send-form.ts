import { refusalOf, serviceUrl } from '../api';
import { megabyte } from '../locale';
import { apiKey, refuseKey } from '../session';
import { texts } from '../texts';

/** Number of sent bytes of a form. */
export interface SentBytes {
  sent: number;
  total: number;
}

/** How a request reports progress, and is cancelled. */
export interface Transfer {
  onProgress?: (progress: SentBytes) => void;
  signal?: AbortSignal;
}

/** The reader has cancelled the request. */
export class Cancelled extends Error {}

/**
 * Sends a form, and reports its progress, which `fetch` does not.
 * @throws RequestError; Cancelled; Error when the connection is lost
 */
export function sendFormData<Body>(
  path: string,
  form: FormData,
  headers: Record<string, string>,
  { onProgress, signal }: Transfer,
): Promise<Body> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    let progress: SentBytes = { sent: 0, total: 0 };
    request.open('POST', serviceUrl + path);
    request.responseType = 'json';
    const key = apiKey();
    for (const [name, value] of Object.entries({ ...headers, ...(key && { 'x-api-key': key }) }))
      request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded, total }) => {
      progress = { sent: loaded, total };
      onProgress?.(progress);
    };
    request.onload = () => {
      const { status } = request;
      const body: unknown = request.response;
      if (status === 401) refuseKey();
      if (status >= 200 && status < 300) resolve(body as Body);
      else reject(refusalOf(status, body, (name) => request.getResponseHeader(name)));
    };
    request.onerror = () => reject(new Error(lossOf(progress)));
    request.onabort = () => reject(new Cancelled());
    if (signal?.aborted) return reject(new Cancelled());
    signal?.addEventListener('abort', () => request.abort());
    request.send(form);
  });
}

function lossOf({ sent, total }: SentBytes): string {
  return sent === 0 ? texts.failure.offline : texts.transfer.lost(megabyte(sent), megabyte(total));
}
