import type { IncomingMessage, ServerResponse } from 'node:http';

/** Whether the request's headers announce a body. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return 'transfer-encoding' in headers || Number(headers['content-length']) > 0;
}

/** The media type of the request's body, in lower case and without parameters; empty where it names none. */
export function mediaTypeOf({ headers }: IncomingMessage): string {
  return (headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase();
}

/** Requests whose client waits for our word (`Expect: 100-continue`) before it sends the body. */
const waiting = new WeakMap<IncomingMessage, ServerResponse>();

/** Notes that the client waits. What is refused before its body is asked for never has to be sent. */
export function noteExpectation(request: IncomingMessage, response: ServerResponse): void {
  waiting.set(request, response);
}

/** To be called by whoever is about to read the body: tells a client that waits to send it. */
export function askForBody(request: IncomingMessage): void {
  waiting.get(request)?.writeContinue();
  waiting.delete(request);
}
