import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import document from '../../generated/openapi.json';
import { documentedResponses, operationOf } from './contract';

/** Counts responses outside of all operations: service pages, the router's 404 and 405, rejections by Node. */
const outside = '(no operation)';

/** Number of sent responses, by operation, status, media type and error code. */
export type Seen = Map<string, number>;

const seenHere: Seen = new Map();
const documented = new Set(
  documentedResponses.flatMap(({ operationId, status, mediaType, codes }) =>
    (codes.length > 0 ? codes : ['']).map((code) => keyOf(operationId, status, mediaType, code)),
  ),
);

const knownCodes = document.components.schemas.KnownErrorCode.enum;
/** Codes that no operation declares: each is seen outside of all. */
const codesOutside = knownCodes.filter((code) =>
  documentedResponses.every(({ codes }) => !codes.includes(code)),
);

/** Counts every response that a server sends, independently of the router. */
export function recordResponses(server: Server): void {
  server.on('request', (request, response) => {
    response.once('finish', () => {
      const operation = operationOf(request.method!, request.url!) ?? outside;
      const contentType = response.getHeader('content-type') as string | undefined;
      const code = response.getHeader('x-error-code') as string | undefined;
      add(seenHere, keyOf(operation, response.statusCode, mediaTypeOf(contentType), code));
    });
  });
  // Node writes rejections of malformed requests directly to the socket.
  server.on('connection', (socket: Socket) => {
    const end = socket.end.bind(socket) as (...args: unknown[]) => Socket;
    socket.end = (...args: unknown[]) => {
      const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(typeof args[0] === 'string' ? args[0] : '') ?? [];
      const headerOf = (name: string) => new RegExp(`\r\n${name}: (.+?)\r\n`).exec(String(args[0]))?.[1];
      const key = [mediaTypeOf(headerOf('Content-Type')), headerOf('x-error-code')] as const;
      if (status) add(seenHere, keyOf(outside, Number(status), ...key));
      return end(...args);
    };
  });
}

/** Writes the counts of a test file, one file per process to avoid locks. @throws Error with the undocumented responses */
export function flushCoverage(): void {
  if (seenHere.size === 0) return;
  appendFileSync(
    join(process.env.CATALOG_TEST_COVERAGE!, `${process.pid}.jsonl`),
    `${JSON.stringify([...seenHere])}\n`,
  );
  const undocumented = [...seenHere.keys()].filter(isUndocumented);
  seenHere.clear();
  if (undocumented.length > 0) {
    throw new Error(`Responses that the document does not have:\n${undocumented.join('\n')}`);
  }
}

/** Merges the counts of all processes of a run. */
export function collectCoverage(folder: string): Seen {
  const seen: Seen = new Map();
  for (const file of readdirSync(folder)) {
    const lines = readFileSync(join(folder, file), 'utf8').trimEnd().split('\n');
    for (const [key, times] of lines.flatMap((line) => JSON.parse(line) as [string, number][])) {
      add(seen, key, times);
    }
  }
  return seen;
}

/** Coverage of the document by a run. */
export interface CoverageReport {
  /** Documented, but not seen by any test. */
  neverSeen: string[];
  /** Seen, but not documented. */
  undocumented: string[];
  text: string;
}

export function reportCoverage(seen: Seen): CoverageReport {
  const isSeenOutside = (code: string) =>
    [...seen.keys()].some((key) => key.startsWith(outside) && key.endsWith(` ${code}`));
  const neverSeen = [
    ...[...documented].filter((key) => !seen.has(key)),
    ...codesOutside.filter((code) => !isSeenOutside(code)).map((code) => `${outside} ${code}`),
  ];
  const undocumented = [...seen.keys()].filter(isUndocumented);
  const apart = [...seen.keys()].filter((key) => key.startsWith('(')).sort();
  const section = (title: string, keys: string[]) => [
    `${title}: ${keys.length}`,
    ...keys.map((key) => `  ${key.padEnd(80)} ${String(seen.get(key) ?? 0).padStart(8)}`),
  ];
  const text = [
    'Coverage of the contract: operation, status, media type, error code, how often sent',
    ...section(
      'documented and seen',
      [...documented].filter((key) => seen.has(key)),
    ),
    ...section('documented and never seen', neverSeen),
    ...section('seen and not documented', undocumented),
    ...section('apart from the document', apart),
  ].join('\n');
  return { neverSeen, undocumented, text };
}

function isUndocumented(key: string): boolean {
  if (!key.startsWith(outside)) return !documented.has(key);
  const [status = '', , code = ''] = key.slice(outside.length).trim().split(/ +/);
  return Number(status) >= 400 && !knownCodes.includes(code);
}

function keyOf(operation: string, status: number, mediaType: string, code = ''): string {
  return `${operation.padEnd(23)} ${status} ${mediaType.padEnd(18)} ${code}`.trimEnd();
}

function mediaTypeOf(contentType = 'none'): string {
  return contentType.split(';', 1)[0]!.trim().toLowerCase();
}

function add(seen: Seen, key: string, times = 1): void {
  seen.set(key, (seen.get(key) ?? 0) + times);
}
