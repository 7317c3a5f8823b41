import type { IncomingMessage, ServerResponse } from 'node:http';

export function hasBody({ headers }: IncomingMessage): boolean {
  return 'transfer-encoding' in headers || Number(headers['content-length']) > 0;
}

/** Returns the media type of the body, in lower case without parameters; empty without one. */
export function mediaTypeOf({ headers }: IncomingMessage): string {
  return (headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase();
}

/** Requests waiting for `100 Continue`. */
const waiting = new WeakMap<IncomingMessage, ServerResponse>();

/** Records a request with `Expect: 100-continue`. If it is rejected before `askForBody`, its body is never sent. */
export function noteExpectation(request: IncomingMessage, response: ServerResponse): void {
  waiting.set(request, response);
}

/** Sends `100 Continue` if the client waits for it. Call it before the body is read. */
export function askForBody(request: IncomingMessage): void {
  waiting.get(request)?.writeContinue();
  waiting.delete(request);
}
