import type { IncomingMessage } from 'node:http';
import { basename } from 'node:path';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { fileHint } from '../../feed-format/detect/file-hint';
import type { Validators } from './claims.repository';
import { FetchFailure } from './fetch-failure';
import { bytesPerSecondMin, detectStall, minimumThroughput } from '../../base/concurrency/stall-detector';
import { startingWith } from '../../base/starting-with';
import { connectionFailure, openUrl, openUrlLimits, type OpenUrlOptions, type UrlRequest } from './open-url';

/** A file that a server sends. */
export interface SourceFile {
  httpStatus: number;
  /** Has an extension that an upload accepts. */
  fileName: string;
  /** The caller reads it to its end, or ends it. @throws FetchFailure */
  content: AsyncGenerator<Buffer, void>;
  validators: Validators;
}

interface SourceFileOptions extends OpenUrlOptions {
  /** Whether another partner waits for the slot of this fetch. */
  othersWait?: () => boolean;
}

/** Minimum throughput while another partner waits: the largest file then takes minutes, not an hour. */
const busyBytesPerSecondMin = 64 * 1024;

/** Maximum wait that a server may request. */
const retryAfterSecondsMax = 24 * 3600;

/** Maximum length of a stored validator. */
const validatorCharactersMax = 1_000;

/** Statuses after which the next attempt can succeed. */
const isTransient = (status: number) => status >= 500 || [408, 425, 429].includes(status);

/** Codes of hints about files that are no table, under any format. */
const noTables = new Set([
  'excel_workbook',
  'excel_97_workbook',
  'opendocument_spreadsheet',
  'zip',
  'pdf',
  'html',
  'json',
  'xml',
]);

/**
 * Opens a file, unless its validators equal `known`.
 * @throws FetchFailure; the reason of the signal
 */
export async function openSourceFile(
  request: Omit<UrlRequest, 'headers'>,
  known: Validators,
  options: SourceFileOptions,
): Promise<SourceFile | { httpStatus: 304 }> {
  const { etag, lastModified } = known;
  const conditions = {
    ...(etag !== null && { 'if-none-match': etag }),
    ...(lastModified !== null && { 'if-modified-since': lastModified }),
  };
  const response = await openUrl({ ...request, headers: conditions }, options);
  const status = response.statusCode!;
  if (status === 304 && (etag ?? lastModified) !== null) {
    response.destroy();
    return { httpStatus: 304 };
  }
  if (status !== 200) {
    response.destroy();
    throw statusFailure(status, response.headers['retry-after']);
  }
  const content = contentOf(response, options);
  const first = await content.next();
  const beginning = first.done ? Buffer.alloc(0) : first.value;
  const name = fileNameOf(request.url);
  const hint = fileHint(beginning);
  if (hint && noTables.has(hint.code)) {
    await content.return();
    throw new FetchFailure('not_a_table', hint.message, { detail: hint.code, httpStatus: status });
  }
  return {
    httpStatus: status,
    // A server can declare a compression that the file's name states too.
    fileName:
      hint?.code === 'gzip' || !response.headers['content-encoding'] ? name : name.replace(/\.gz$/i, ''),
    content: startingWith(beginning, content),
    validators: {
      etag: validatorOf(response.headers.etag),
      lastModified: validatorOf(response.headers['last-modified']),
    },
  };
}

const validatorOf = (text: string | undefined) =>
  text !== undefined && text.length <= validatorCharactersMax ? text : null;

/** What the partner can do; nothing where the next attempt may succeed. */
function remedyOf(status: number): string {
  if (isTransient(status)) return '';
  if (status < 400) return ' It must respond with 200 and the whole file.';
  return [401, 403].includes(status) ? ' Check the secrets of the source.' : ' Check the URL.';
}

function statusFailure(status: number, retryAfter: string | undefined): FetchFailure {
  return new FetchFailure('http_status', `The server responded with ${status}.${remedyOf(status)}`, {
    detail: String(status),
    httpStatus: status,
    isTransient: isTransient(status),
    retryAfterSeconds: secondsOf(retryAfter),
  });
}

/** Parses `Retry-After`: seconds, or a date. */
function secondsOf(retryAfter: string | undefined): number | undefined {
  if (retryAfter === undefined) return undefined;
  const seconds = /^\d{1,9}$/.test(retryAfter)
    ? Number(retryAfter)
    : Math.ceil((Date.parse(retryAfter) - Date.now()) / 1000);
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 0), retryAfterSecondsMax);
}

/** Yields the content without the compression of the transfer. @throws FetchFailure; the reason of the signal */
async function* contentOf(
  response: IncomingMessage,
  { signal, othersWait = () => false }: SourceFileOptions,
): AsyncGenerator<Buffer, void> {
  const httpStatus = response.statusCode;
  const stream = unpacked(response);
  let unpackedBytes = 0;
  const server = {
    // The smaller number: endless compressed content can unpack to nothing, and a little can unpack to much.
    bytes: () => Math.min(unpackedBytes, response.socket.bytesRead),
    isAwaited: () => !response.complete && response.readableLength === 0 && stream.readableLength === 0,
    isGone: () => stream.destroyed,
  };
  const { idleMilliseconds } = openUrlLimits;
  const fail =
    (bytesPerSecond: number, when = '') =>
    () =>
      stream.destroy(tooSlow(bytesPerSecond, when));
  const endWatches = [
    detectStall(server, minimumThroughput(idleMilliseconds), fail(bytesPerSecondMin)),
    detectStall(
      { ...server, isAwaited: () => server.isAwaited() && othersWait() },
      minimumThroughput(idleMilliseconds, busyBytesPerSecondMin),
      fail(busyBytesPerSecondMin, ' while other partners waited'),
    ),
  ];
  try {
    for await (const chunk of stream) {
      unpackedBytes += (chunk as Buffer).length;
      yield chunk as Buffer;
    }
  } catch (error) {
    signal.throwIfAborted();
    const { code } = error as NodeJS.ErrnoException;
    if (code?.startsWith('Z_'))
      throw new FetchFailure('incomplete', 'The compressed content is damaged or incomplete.', {
        isTransient: true,
        httpStatus,
      });
    throw connectionFailure(error);
  } finally {
    for (const endWatch of endWatches) endWatch();
    response.destroy();
  }
}

const tooSlow = (bytesPerSecond: number, when: string) =>
  new FetchFailure(
    'timeout',
    `The server sent less than ${bytesPerSecond / 1024} KiB per second for ${openUrlLimits.idleMilliseconds / 1000} seconds${when}.`,
    { isTransient: true },
  );

function unpacked(response: IncomingMessage): Readable {
  const encoding = response.headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (['', 'identity'].includes(encoding)) return response;
  if (['gzip', 'x-gzip'].includes(encoding)) return pipeline(response, createGunzip(), () => undefined);
  response.destroy();
  throw new FetchFailure(
    'content_encoding',
    'The content has a Content-Encoding that is not supported. Send it uncompressed, or compressed with gzip.',
    {
      httpStatus: response.statusCode,
    },
  );
}

/** Returns the last segment of the path, with an extension of a feed. */
function fileNameOf(url: string): string {
  const segment = basename(new URL(url).pathname);
  let name = segment;
  try {
    name = decodeURIComponent(segment);
  } catch {
    // Not UTF-8: unchanged from the URL.
  }
  const safe = name.replaceAll('\0', '') || 'feed';
  return /\.(?:csv|tsv|txt)(?:\.gz)?$/i.test(safe) ? safe : `${safe}.csv`;
}
