import type { IncomingMessage } from 'node:http';

/** Whether the request's headers announce a body. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return 'transfer-encoding' in headers || Number(headers['content-length']) > 0;
}

/** The media type of the request's body, in lower case and without parameters; empty where it names none. */
export function mediaTypeOf({ headers }: IncomingMessage): string {
  return (headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase();
}
