import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { MIMEType } from 'node:util';
import busboy from 'busboy';
import { fileTooLarge, malformedMultipart, ServiceError, unauthorized } from '../../base/errors';
import type { FormFields } from './form-fields';
import type { KeyCheck } from '../keys/key-check';
import { askForBody, hasBody } from './request-body';
import { Delimiters } from './multipart-delimiters';
import { senderOf, watchSender } from './slow-client';
import type { Peer } from '../../base/concurrency/stall-detector';

/** Maximum size of a form without its file. */
export const multipartOverheadBytes = 1024 * 1024;

/** Maximum number of parts of a form. */
export const formParts = 100;

/** A part of a form. The content of a file must be read to its end before the next part. */
export type FormPart =
  /** `value`: null for an unknown character set, or bytes that are invalid in it; truncated if it is too long. */
  | { kind: 'field'; name: string; value: string | null; isTooLong: boolean }
  | {
      kind: 'file';
      name: string;
      fileName: string | undefined;
      /** Without parameters; undefined for a part without `Content-Type`. */
      mediaType: string | undefined;
      content: AsyncIterable<Buffer>;
    };

export interface MultipartBody {
  /** Can be iterated once; after an early end, the rest of the body is discarded. */
  parts: AsyncGenerator<FormPart, void>;
  fields: FormFields;
  sender: Peer;
  /** `Content-Length`; undefined if the client does not send it. */
  announcedBytes: number | undefined;
  /** Aborts the parts and the content of a file with the error. */
  abort: (error: ServiceError) => void;
}

/**
 * Opens a multipart/form-data body; a request without a body has no parts.
 * @param fileBytesMax - limit of the file; the rest of the body has `multipartOverheadBytes`
 * @param keyCheck - the key of the sender; the body is refused once it is invalid
 */
export function openMultipart(
  request: IncomingMessage,
  fields: FormFields,
  fileBytesMax: number,
  keyCheck?: KeyCheck,
): MultipartBody {
  const abortion = new AbortController();
  const limits = { fieldBytesMax: fields.bytesMax, fileBytesMax };
  return {
    parts: readMultipart(request, limits, abortion.signal, keyCheck),
    fields,
    sender: senderOf(request),
    announcedBytes: announcedBytesOf(request),
    abort: (error) => abortion.abort(error),
  };
}

/** @throws malformed_multipart, file_too_large, request_timeout, unauthorized, the signal's reason; also from the content of a file */
async function* readMultipart(
  request: IncomingMessage,
  { fieldBytesMax, fileBytesMax }: { fieldBytesMax: number; fileBytesMax: number },
  signal: AbortSignal,
  keyCheck: KeyCheck | undefined,
): AsyncGenerator<FormPart, void> {
  if (!hasBody(request)) return;
  signal.throwIfAborted();
  // The client may have disconnected before; no further event would report it.
  if (request.destroyed) throw clientGone();
  const bodyBytesMax = fileBytesMax + multipartOverheadBytes;
  if ((announcedBytesOf(request) ?? 0) > bodyBytesMax) throw fileTooLarge(fileBytesMax);
  const form = openForm(request, fieldBytesMax);
  const delimiters = new Delimiters(boundaryOf(request));
  const queue: FormPart[] = [];
  const state: { failure?: ServiceError; finished: boolean } = { finished: false };
  let wake: () => void = () => undefined;
  const fail = (error: unknown) => {
    state.failure ??= formError(error);
    // Also aborts the content of the current file.
    form.destroy(state.failure);
    wake();
  };

  // busboy's types lack parts without a name, and texts of an unknown character set.
  form.on('field', (name: string | undefined, value: string | undefined, { valueTruncated }) => {
    // Invalid bytes become U+FFFD, which no name contains. A truncated value may end inside a character.
    const isText = value !== undefined && (valueTruncated || !value.includes('\uFFFD'));
    queue.push({
      kind: 'field',
      name: name ?? '',
      value: isText ? value : null,
      isTooLong: valueTruncated,
    });
    wake();
  });
  form.on('file', (name: string | undefined, content, { filename, mimeType }) => {
    // The reader of the content gets the error; without a listener it would end the process.
    content.on('error', () => undefined);
    const mediaType = namesMediaType(delimiters.heads, name ?? '') ? mimeType : undefined;
    queue.push({
      kind: 'file',
      name: name ?? '',
      fileName: filename,
      mediaType,
      content: readContent(content),
    });
    wake();
  });
  form.on('partsLimit', () => fail(malformedMultipart(new Error('too many parts'))));
  form.on('error', fail);
  form.on('finish', () => {
    state.finished = true;
    wake();
  });

  let bytes = 0;
  // `pipe` would pass on each HTTP chunk alone; `read` returns all bytes received since.
  const onReadable = () => {
    while (!form.destroyed && !form.writableNeedDrain) {
      const piece = request.read() as Buffer | null;
      if (!piece) return;
      bytes += piece.length;
      if (keyCheck?.isGone()) {
        fail(unauthorized());
        return;
      }
      if (bytes > bodyBytesMax) {
        fail(fileTooLarge(fileBytesMax));
        return;
      }
      const formPiece = delimiters.take(piece);
      if (!formPiece) {
        fail(malformedMultipart(new Error('an ambiguous boundary')));
        return;
      }
      form.write(formPiece);
    }
  };
  const onEnd = () => form.end();
  const onClose = () => {
    // A complete but unread request is lost too.
    if (!request.readableEnded) fail(clientGone());
  };
  request.on('close', onClose);
  const onAbort = () => fail(signal.reason);
  signal.addEventListener('abort', onAbort);
  const endWatch = watchSender(request, fail);
  form.on('drain', onReadable);
  request.on('readable', onReadable).on('end', onEnd);
  askForBody(request);

  try {
    for (;;) {
      if (state.failure) throw state.failure;
      const part = queue.shift();
      if (part) yield part;
      else if (state.finished) return;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    request.off('close', onClose);
    signal.removeEventListener('abort', onAbort);
    endWatch();
    request.off('readable', onReadable).off('end', onEnd);
    request.resume();
    form.destroy();
  }
}

function announcedBytesOf({ headers }: IncomingMessage): number | undefined {
  const length = headers['content-length'];
  return length === undefined ? undefined : Number(length);
}

function openForm(request: IncomingMessage, fieldBytesMax: number): busboy.Busboy {
  try {
    return busboy({
      headers: request.headers,
      defParamCharset: 'utf8',
      // A value of exactly this size counts as truncated.
      limits: { parts: formParts, fieldSize: fieldBytesMax + 1 },
    });
  } catch (error) {
    // No boundary.
    throw malformedMultipart(error);
  }
}

const clientGone = () => malformedMultipart(new Error('the client disconnected'));

const formError = (error: unknown): ServiceError =>
  error instanceof ServiceError ? error : malformedMultipart(error);

async function* readContent(content: Readable): AsyncGenerator<Buffer> {
  try {
    yield* content.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  } catch (error) {
    throw formError(error);
  }
}

/** Returns the boundary of a body that busboy accepts. @throws malformed_multipart when it is empty */
function boundaryOf(request: IncomingMessage): string {
  const boundary = new MIMEType(request.headers['content-type']!).params.get('boundary');
  if (!boundary) throw malformedMultipart(new Error('no boundary'));
  return boundary;
}

/**
 * Returns whether the next part with this name has a media type, and removes the heads up to it. For a part without one, busboy
 * reports `text/plain`, which many clients send.
 */
function namesMediaType(heads: string[], partName: string): boolean {
  const name = Buffer.from(partName)
    .toString('latin1')
    .replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const disposition = new RegExp(`^content-disposition:[^\\r\\n]*[;\\s]name="?${name}"?(?:;|\\s|$)`, 'im');
  const at = heads.findIndex((head) => disposition.test(head));
  const head = heads.splice(0, at + 1).at(-1);
  return head === undefined || /^content-type:/im.test(head);
}
