import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { ApiResponse } from './api-client';
import { formType } from './multipart';
import { testKey } from './service';

/**
 * An upload that is sent piece by piece, as `fetch` cannot: it may end early, or never. It goes past Prism, which would
 * wait for its end.
 */
export class OpenUpload {
  /** The answer, which may come before the body has ended. */
  readonly response: Promise<ApiResponse>;
  /** Resolves when the body is asked for, of a client that waits for that (`expect: 100-continue`). */
  readonly continued: Promise<void>;
  private readonly request: ClientRequest;

  /** Sends the head of the request; chunked unless `headers` have a Content-Length. */
  constructor({ url }: { url?: string }, headers: Record<string, string> = {}, path = '/feeds/upload') {
    this.request = request(`${url!}${path}`, {
      method: 'POST',
      agent: false,
      headers: { 'x-api-key': testKey, 'content-type': formType, ...headers },
    });
    this.response = new Promise((resolve, reject) => {
      this.request.on('error', reject);
      this.request.on('response', (message) => void readResponse(message).then(resolve, reject));
    });
    this.continued = new Promise((resolve) => this.request.on('continue', resolve));
    // Of a request that is cut off nobody awaits the answer.
    this.response.catch(() => undefined);
    this.request.flushHeaders();
  }

  /** Resolves when the piece is handed to the network. */
  write(piece: string | Uint8Array): Promise<void> {
    return new Promise((resolve, reject) =>
      this.request.write(piece, (error) => (error ? reject(error) : resolve())),
    );
  }

  end(): void {
    this.request.end();
  }

  /** Cuts the connection. */
  abort(): void {
    this.request.destroy();
  }

  /** Says, amid the body, that nothing more comes. */
  hangUp(): void {
    this.request.socket?.end();
  }
}

async function readResponse(message: IncomingMessage): Promise<ApiResponse> {
  const body = await text(message);
  return {
    status: message.statusCode!,
    headers: new Headers(Object.entries(message.headers) as [string, string][]),
    body: JSON.parse(body) as unknown,
  };
}
