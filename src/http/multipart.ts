import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { MIMEType } from 'node:util';
import busboy from 'busboy';
import { fileTooLarge, malformedRequest, ServiceError } from '../shared/errors';
import { askForBody, hasBody } from './request-body';
import { Delimiters } from './multipart-delimiters';
import { watchSender } from './slow-client';

/** What a multipart body may hold besides the file: headers, the name and ignored parts. */
export const multipartOverheadBytes = 1024 * 1024;

/** A form field is cut here; a partner name needs at most 255 characters of 4 bytes. */
export const formFieldBytes = 64 * 1024;

/** More parts than this are not a form of ours. */
export const formParts = 100;

/** A part of a form. A file's content must be read to its end before the next part comes. */
export type FormPart =
  /** `value`: null when its character set is unknown, or it is not of that. */
  | { kind: 'field'; name: string; value: string | null }
  | {
      kind: 'file';
      name: string;
      fileName: string | undefined;
      /** Without parameters; undefined where the part names none. */
      mediaType: string | undefined;
      content: AsyncIterable<Buffer>;
    };

/** A multipart body. */
export interface MultipartBody {
  /** To be read once, one part after the other; the body is dropped when it is left early. */
  parts: AsyncGenerator<FormPart, void>;
  /** How many bytes have come in; Infinity when all have. */
  bytesReceived: () => number;
  /** Ends the parts, and the content of a file, with the error. */
  abort: (error: ServiceError) => void;
}

/**
 * Opens a multipart/form-data body. A file's content must be read to its end before the next part is asked for. A request
 * without a body has no parts.
 * @param fileBytesMax - limit of the file; the rest of the body has `multipartOverheadBytes`
 */
export function openMultipart(request: IncomingMessage, fileBytesMax: number): MultipartBody {
  const abortion = new AbortController();
  return {
    parts: readMultipart(request, fileBytesMax, abortion.signal),
    bytesReceived: () => (request.complete ? Infinity : request.socket.bytesRead),
    abort: (error) => abortion.abort(error),
  };
}

/** @throws malformed_request, too_large, request_timeout, the signal's reason; the content of a file throws them too */
async function* readMultipart(
  request: IncomingMessage,
  fileBytesMax: number,
  signal: AbortSignal,
): AsyncGenerator<FormPart, void> {
  if (!hasBody(request)) return;
  signal.throwIfAborted();
  // It may have gone while something else was being waited for; nothing would tell any more.
  if (request.destroyed) throw clientGone();
  const bodyBytesMax = fileBytesMax + multipartOverheadBytes;
  if (Number(request.headers['content-length']) > bodyBytesMax) throw fileTooLarge(fileBytesMax);
  const form = openForm(request);
  const delimiters = new Delimiters(boundaryOf(request));
  const queue: FormPart[] = [];
  const state: { failure?: ServiceError; finished: boolean } = { finished: false };
  let wake: () => void = () => undefined;
  const fail = (error: unknown) => {
    state.failure ??= asServiceError(error);
    // Ends the content of the current file with the same error.
    form.destroy(state.failure);
    wake();
  };

  // The types of busboy's events leave out that a part may have no name, and a text no known character set.
  form.on('field', (name: string | undefined, value: string | undefined, { valueTruncated }) => {
    // Bytes that are not of the character set come as U+FFFD, which is in no name. A value that was cut, perhaps amid a
    // character, is far too long for any field of ours; it is reported as such.
    const isText = value !== undefined && (valueTruncated || !value.includes('\uFFFD'));
    queue.push({ kind: 'field', name: name ?? '', value: isText ? value : null });
    wake();
  });
  form.on('file', (name: string | undefined, content, { filename, mimeType }) => {
    // Whoever reads the content learns of its error; without a listener it would end the process.
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
  // Not `pipe`, which would hand on each HTTP chunk by itself: `read` gives all that has come since, as one piece.
  const onReadable = () => {
    while (!form.destroyed && !form.writableNeedDrain) {
      const piece = request.read() as Buffer | null;
      if (!piece) return;
      bytes += piece.length;
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
    // Also of a request that has come in whole, nothing more can be read.
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

function openForm(request: IncomingMessage): busboy.Busboy {
  try {
    return busboy({
      headers: request.headers,
      defParamCharset: 'utf8',
      limits: { parts: formParts, fieldSize: formFieldBytes },
    });
  } catch (error) {
    // No boundary.
    throw malformedMultipart(error);
  }
}

const malformedMultipart = (cause: unknown) => malformedRequest('Malformed multipart body.', cause);

const clientGone = () => malformedMultipart(new Error('the client went away'));

function asServiceError(error: unknown): ServiceError {
  return error instanceof ServiceError ? error : malformedMultipart(error);
}

async function* readContent(content: Readable): AsyncGenerator<Buffer> {
  try {
    yield* content.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  } catch (error) {
    throw asServiceError(error);
  }
}

/** The boundary of a body that busboy has agreed to parse. @throws malformed_request when it is empty */
function boundaryOf(request: IncomingMessage): string {
  const boundary = new MIMEType(request.headers['content-type']!).params.get('boundary');
  if (!boundary) throw malformedMultipart(new Error('no boundary'));
  return boundary;
}

/**
 * Returns whether the next part with this name has a media type, and removes the heads up to it: busboy gives `text/plain`
 * for a part without one, as many clients send it.
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
