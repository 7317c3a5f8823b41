import type { IncomingMessage, ServerResponse } from 'node:http';

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
