import type { ApiClient, ApiResponse } from './api-client';
import {
  request,
  type ClientRequest,
  type IncomingMessage,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http';
import { text } from 'node:stream/consumers';
import { testKey, type TestService } from './service';
import { readdirSync, readlinkSync } from 'node:fs';

/** A part of a multipart body: its raw header lines, and its content. */
export interface RawPart {
  headers: string[];
  content: string | Uint8Array;
}

export const boundary = 'catalog-test-boundary';
export const formType = `multipart/form-data; boundary=${boundary}`;

export const goodCsv = 'sku,product_name,price\nTENT-2,Two-person tent,189.90\n';

export function fieldPart(name: string, content: string | Uint8Array): RawPart {
  return { headers: [`Content-Disposition: form-data; name="${name}"`], content };
}

interface FileOptions {
  name?: string;
  fileName?: string;
  /** Null: the part has no Content-Type. */
  mediaType?: string | null;
}

/** A part with a file; valid by default. */
export function filePart(
  content: string | Uint8Array = goodCsv,
  { name = 'file', fileName = 'feed.csv', mediaType = 'text/csv' }: FileOptions = {},
): RawPart {
  const headers = [`Content-Disposition: form-data; name="${name}"; filename="${fileName}"`];
  if (mediaType !== null) headers.push(`Content-Type: ${mediaType}`);
  return { headers, content };
}

export const partnerPart = (name = 'Acme Outdoor') => fieldPart('partner_name', name);

export function formBody(parts: readonly RawPart[]): Buffer {
  return Buffer.concat([
    ...parts.flatMap(({ headers, content }) => [
      Buffer.from(`--${boundary}\r\n${headers.join('\r\n')}\r\n\r\n`),
      Buffer.from(content as Uint8Array),
      Buffer.from('\r\n'),
    ]),
    Buffer.from(`--${boundary}--\r\n`),
  ]);
}

/** Posts a body as an upload, with its length in the header. */
export function postUpload(
  api: ApiClient,
  body: string | Uint8Array,
  contentType: string | undefined = formType,
): Promise<ApiResponse> {
  return api.send('POST', '/feeds/upload', { headers: { 'content-type': contentType }, body });
}

/** Uploads a form with these parts in order, with its length in the header. */
export function uploadParts(api: ApiClient, ...parts: RawPart[]): Promise<ApiResponse> {
  return postUpload(api, formBody(parts));
}

/** The same without a length: chunked. */
export function uploadChunked(api: ApiClient, ...parts: RawPart[]): Promise<ApiResponse> {
  const body = formBody(parts);
  function* pieces() {
    for (let start = 0; start < body.length; start += 65_536) yield body.subarray(start, start + 65_536);
  }
  return api.send('POST', '/feeds/upload', {
    headers: { 'content-type': formType },
    body: ReadableStream.from(pieces()),
    duplex: 'half',
  });
}

/** An upload that is sent in pieces, which `fetch` cannot do: it may end early, or never. */
export class OpenUpload {
  /** The response, which may arrive before the body has ended. */
  readonly response: Promise<ApiResponse>;
  /** Resolves when the server requests the body of a client with `expect: 100-continue`. */
  readonly continued: Promise<void>;
  private readonly request: ClientRequest;

  /** Sends the header of the request; chunked unless `headers` have a Content-Length. */
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
    // The response of an aborted request is not awaited.
    this.response.catch(() => undefined);
    this.request.flushHeaders();
  }

  /** Resolves when the piece is passed to the network. */
  write(piece: string | Uint8Array): Promise<void> {
    return new Promise((resolve, reject) =>
      this.request.write(piece, (error) => (error ? reject(error) : resolve())),
    );
  }

  end(): void {
    this.request.end();
  }

  abort(): void {
    this.request.destroy();
  }

  /** Ends the request in the middle of its body. */
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

/** A raw response. */
export interface RawResponse {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

/** A request that `fetch` would not send: any method, headers and framing. */
export interface RawRequest {
  method: string;
  path: string;
  headers?: OutgoingHttpHeaders;
  /** Sent in pieces; chunked, if the headers say so. */
  chunks?: (string | Buffer)[];
  /** Leaves the body open: the response must arrive without the rest. */
  unfinished?: boolean;
}

const patienceMilliseconds = 5_000;

/** Sends a request unchanged. @throws Error if there is no response within seconds */
export function sendRaw(
  url: string,
  { method, path, headers, chunks = [], unfinished = false }: RawRequest,
): Promise<RawResponse> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(patienceMilliseconds);
    const message = request(url, { method, path, headers, agent: false, signal }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('error', reject);
      response.on('end', () => {
        message.destroy();
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

/** A response with its raw body. */
export interface Download {
  status: number;
  headers: Headers;
  bytes: Buffer;
}

export async function download(
  { url }: TestService,
  feedId: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<Download> {
  const response = await fetch(`${url}/feeds/${feedId}/raw`, {
    method,
    headers: { 'x-api-key': testKey, ...headers },
  });
  return {
    status: response.status,
    headers: response.headers,
    bytes: Buffer.from(await response.arrayBuffer()),
  };
}

/** The files below a folder that this process has open. */
export function openFiles(folder: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      const file = readlinkSync(`/proc/self/fd/${descriptor}`);
      return file.startsWith(folder) ? [file] : [];
    } catch {
      // Closed by now.
      return [];
    }
  });
}
