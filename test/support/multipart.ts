import type { ApiClient, ApiResponse } from './api-client';

/** A part of a multipart body: its header lines as they are, and its content. */
export interface RawPart {
  headers: string[];
  content: string | Uint8Array;
}

export const boundary = 'catalog-test-boundary';
export const formType = `multipart/form-data; boundary=${boundary}`;

/** A small feed that is right. */
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

/** A part with a file; right, unless it is told otherwise. */
export function filePart(
  content: string | Uint8Array = goodCsv,
  { name = 'file', fileName = 'feed.csv', mediaType = 'text/csv' }: FileOptions = {},
): RawPart {
  const headers = [`Content-Disposition: form-data; name="${name}"; filename="${fileName}"`];
  if (mediaType !== null) headers.push(`Content-Type: ${mediaType}`);
  return { headers, content };
}

export const partnerPart = (name = 'Acme Outdoor') => fieldPart('partner_name', name);

/** The body of a form with these parts. */
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

/** Uploads a form part by part as given, with its length in the header. */
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
