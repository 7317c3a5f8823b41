import type { IncomingMessage } from 'node:http';
import {
  bodyTooLarge,
  invalidShape,
  malformedJson,
  ServiceError,
  unsupportedMediaType,
} from '../../base/errors';
import { askForBody } from './request-body';
import { watchSender } from './slow-client';
import { toWellFormed, type WellFormed } from './well-formed';

/** Maximum size of a JSON body, unless the document has another; the largest order (1,000 items) takes a tenth of it. */
export const jsonBodyBytes = 1024 * 1024;

/** Maximum nesting of a JSON body: deeper recursion could exhaust the stack. */
export const jsonDepth = 32;

/**
 * Reads and parses a JSON body, which must be an object or an array. A body that is too large is rejected immediately; Express'
 * own parser would read it to the end.
 * @returns the body, undefined without one, and the errors of its strings
 * @throws body_too_large, request_timeout, malformed_json, unsupported_media_type (charset or encoding), validation_error
 */
export async function readJsonBody(
  request: IncomingMessage,
  bytesMax = jsonBodyBytes,
): Promise<WellFormed<object | undefined>> {
  checkEncoding(request);
  const bytes = await readBytes(request, bytesMax);
  if (bytes.length === 0) return { value: undefined, errors: [] };
  return parseJsonBody(decode(bytes));
}

/** @throws malformed_json, validation_error */
export function parseJsonBody(text: string): WellFormed<object> {
  const body = parse(text);
  if (typeof body !== 'object' || body === null) {
    const input = typeof body === 'string' ? body.toWellFormed() : body;
    throw invalidShape([{ type: 'dict_type', loc: ['body'], msg: 'Input should be a valid object', input }]);
  }
  if (isDeeperThan(body, jsonDepth)) {
    throw invalidShape([
      {
        type: 'nesting_too_deep',
        loc: ['body'],
        msg: `Input should be nested at most ${jsonDepth} levels deep`,
        input: null,
        ctx: { max_depth: jsonDepth },
      },
    ]);
  }
  // In UTF-8, only an escape can be a lone surrogate.
  return text.includes('\\u') ? toWellFormed(body, ['body']) : { value: body, errors: [] };
}

function checkEncoding({ headers }: IncomingMessage): void {
  const charset = /;\s*charset="?([^";\s]+)/i.exec(headers['content-type'] ?? '')?.[1] ?? 'utf-8';
  const encoding = headers['content-encoding'] ?? 'identity';
  if (!/^utf-?8$/i.test(charset) || !/^identity$/i.test(encoding)) {
    throw unsupportedMediaType('application/json');
  }
}

async function readBytes(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  if (Number(request.headers['content-length']) > bytesMax) throw bodyTooLarge(bytesMax);
  let endWatch = () => {};
  const tooSlow = new Promise<never>((_resolve, reject) => (endWatch = watchSender(request, reject)));
  try {
    askForBody(request);
    return await Promise.race([collectBytes(request, bytesMax), tooSlow]);
  } catch (error) {
    throw error instanceof ServiceError ? error : malformedJson(error);
  } finally {
    endWatch();
  }
}

async function collectBytes(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw bodyTooLarge(bytesMax);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw malformedJson(error);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw malformedJson(error);
  }
}

/** Iterative: deeply nested input targets the call stack. */
function isDeeperThan(value: object, depthMax: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > depthMax) return true;
    level = level
      .flatMap((each) => Object.values(each as object) as unknown[])
      .filter((each) => typeof each === 'object' && each !== null);
  }
  return false;
}
