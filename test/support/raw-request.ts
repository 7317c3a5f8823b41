import { request, type Agent, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http';

/** A response as it came in. */
export interface RawResponse {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

/** What `fetch` would not send: any method, headers and framing. */
export interface RawRequest {
  method: string;
  path: string;
  headers?: OutgoingHttpHeaders;
  /** Sent piece by piece; chunked, where the headers say so. */
  chunks?: (string | Buffer)[];
  /** Leaves the body open: the response must come without the rest of it. */
  unfinished?: boolean;
  /** Has the connection; absent: one of the request's own. */
  agent?: Agent;
}

const patienceMilliseconds = 5_000;

/** Sends a request; past Prism, which would put it in order. @throws when no response comes within seconds */
export function sendRaw(
  url: string,
  { method, path, headers, chunks = [], unfinished = false, agent }: RawRequest,
): Promise<RawResponse> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(patienceMilliseconds);
    const message = request(url, { method, path, headers, agent: agent ?? false, signal }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('error', reject);
      response.on('end', () => {
        if (!agent) message.destroy();
        const text = Buffer.concat(parts).toString('utf8');
        resolve({ status: response.statusCode!, headers: response.headers, text });
      });
    });
    message.on('error', reject);
    for (const chunk of chunks) message.write(chunk);
    if (unfinished) message.flushHeaders();
    else message.end();
  });
}
