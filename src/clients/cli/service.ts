import { setTimeout as pause } from 'node:timers/promises';
import {
  BodyFailure,
  exchange,
  SaveFailure,
  type ServiceResponse,
  type ClientExchange,
  type StreamedBody,
} from './exchange';
import { exitCodes, Failure, type FailureDetails } from './failures';
import { printable } from './printable';
import { pathText, queryText, type GetPath, type JsonOf, type QueryOf } from './requests';

export interface ServiceAddress {
  url: URL;
  /** Never in a message. */
  key: string;
  /** Retries of a request without a response, or with a temporary error. */
  retries: number;
}

export interface Request {
  method: ClientExchange['method'];
  path: string;
  headers?: Record<string, string>;
  /** Makes the body of an attempt; undefined if it cannot be read again. */
  body?: () => StreamedBody | undefined;
  save?: ClientExchange['save'];
  retriedStatuses?: number[];
  /** Checks, before the retry of a request that may have been received, whether it is still needed. */
  isStillNeeded?: () => Promise<boolean>;
  /** The status of a retry if an earlier attempt was received. */
  doneStatus?: number;
}

const retriedStatuses = [429, 502, 503, 504];
/** A proxy may have forwarded the request, and lost the response. */
const lostStatuses = [502, 503, 504];
/** Limit for `Retry-After` and the backoff. */
const pauseSecondsMax = 60;

/** Calls the API with retries; an error response is a `Failure` with its reason. */
export class Service {
  constructor(
    readonly address: ServiceAddress,
    private readonly signal: AbortSignal,
    private readonly note: (text: string) => void,
  ) {}

  /** @returns a response of 2xx or 304; undefined if the request is no longer needed. @throws Failure */
  async ask(what: string, request: Request): Promise<ServiceResponse | undefined> {
    let mayBeReceived = false;
    for (let attempt = 0; ; attempt++) {
      const body = request.body?.();
      if (request.body && !body) throw new Failure(exitCodes.unavailable, this.brokenOff(what));
      const outcome = await this.attempt(request, body);
      if (!(outcome instanceof Error) && isSuccess(outcome)) return outcome;
      if (mayBeReceived && !(outcome instanceof Error) && outcome.status === request.doneStatus)
        return undefined;
      const isTemporary =
        outcome instanceof Error ||
        [...retriedStatuses, ...(request.retriedStatuses ?? [])].includes(outcome.status);
      if (!isTemporary) throw new Failure(exitCodes.refused, refusal(what, outcome), detailsOf(outcome));
      const reason =
        outcome instanceof Error
          ? `The service at ${this.name} cannot be reached: ${reasonOf(outcome)}.`
          : refusal(what, outcome);
      if (attempt >= this.address.retries) {
        const details = outcome instanceof Error ? {} : detailsOf(outcome);
        throw new Failure(exitCodes.unavailable, reason, details);
      }
      const seconds = secondsToWait(outcome, attempt);
      this.note(`${reason} Retrying in ${seconds} s (${attempt + 1} of ${this.address.retries}).`);
      await this.pause(seconds);
      mayBeReceived ||= outcome instanceof Error || lostStatuses.includes(outcome.status);
      if (mayBeReceived && request.isStillNeeded && !(await request.isStillNeeded())) return undefined;
    }
  }

  /** Gets a list by its path in the document. @throws Failure, also when the response is not a list */
  async getList<P extends GetPath>(
    what: string,
    path: P,
    { path: inPath, query = {} }: { path?: Record<string, string>; query?: QueryOf<P> | object },
  ): Promise<JsonOf<P>> {
    const response = await this.ask(what, { method: 'GET', path: pathText(path, inPath) + queryText(query) });
    const list = response!.body as { items?: unknown } | undefined;
    if (!Array.isArray(list?.items)) throw unexpectedResponse('a list');
    return list as JsonOf<P>;
  }

  /** Tells whether the service ends a stream of events in time; false for a failed or broken one. */
  async endsWithin(seconds: number, path: string): Promise<boolean> {
    const timeout = AbortSignal.timeout(seconds * 1000);
    const { address, signal } = this;
    try {
      const { status } = await exchange(this.urlOf(path), {
        method: 'GET',
        headers: { 'x-api-key': address.key, accept: 'text/event-stream' },
        signal: AbortSignal.any([signal, timeout]),
      });
      return status === 200;
    } catch {
      signal.throwIfAborted();
      return false;
    }
  }

  async pause(seconds: number): Promise<void> {
    await pause(seconds * 1000, undefined, { signal: this.signal }).catch(() => undefined);
    this.signal.throwIfAborted();
  }

  urlOf(path: string): URL {
    return new URL(this.address.url.href.replace(/\/$/, '') + path);
  }

  private get name(): string {
    return this.address.url.href.replace(/\/$/, '');
  }

  private brokenOff(what: string): string {
    return `Part of ${what} was sent before the connection was interrupted; standard input cannot be read again.`;
  }

  /** @returns the response, or the network error. @throws errors that are not retried */
  private async attempt(
    { method, path, headers, save }: Request,
    body: StreamedBody | undefined,
  ): Promise<ServiceResponse | Error> {
    try {
      return await exchange(this.urlOf(path), {
        method,
        headers: { 'x-api-key': this.address.key, ...headers },
        body,
        save,
        signal: this.signal,
      });
    } catch (error) {
      this.signal.throwIfAborted();
      if (error instanceof BodyFailure) throw error.cause;
      if (error instanceof SaveFailure) throw saveFailure(error.cause as Error);
      return error as Error;
    }
  }
}

const isSuccess = ({ status }: ServiceResponse) => (status >= 200 && status < 300) || status === 304;

/** Returns `Retry-After`, or a backoff of 1, 2, 4 … seconds. */
function secondsToWait(outcome: ServiceResponse | Error, attempt: number): number {
  const asked = outcome instanceof Error ? NaN : Number(outcome.headers['retry-after']);
  return Math.min(asked > 0 ? asked : 2 ** attempt, pauseSecondsMax);
}

/** Formats an error response in a line: status, code, detail and request id. */
function refusal(what: string, { status, headers, body }: ServiceResponse): string {
  const { 'x-request-id': id, 'x-error-code': code } = headers;
  const reason = code ? `${status} (${code})` : status;
  return printable(
    `The service responded to ${what} with ${reason}: ${detailOf(body)}${id ? ` (request ${id})` : ''}`,
  );
}

/** Makes the failure for a response of 200 with an unexpected body. */
export const unexpectedResponse = (what: string) =>
  new Failure(exitCodes.refused, `Unexpected response (not ${what}). Check --url.`);

/** Formats an error body of the document: `detail`, with one entry per error for 422, or `message`. */
function detailOf(body: unknown): string {
  const { detail, message } = (body ?? {}) as { detail?: unknown; message?: unknown };
  if (typeof detail === 'string') return detail;
  if (typeof message === 'string') return message;
  if (!Array.isArray(detail)) return 'no explanation. Check --url.';
  return (detail as { loc?: unknown[]; msg?: unknown }[])
    .map(({ loc, msg }) => `${(loc ?? []).slice(1).join('.')}: ${String(msg)}`)
    .join('; ');
}

function detailsOf({ status, headers, body }: ServiceResponse): FailureDetails {
  const { 'x-request-id': requestId, 'x-error-code': code } = headers;
  return { status, error_code: code, request_id: requestId, response: body };
}

/** A download is not retried: a part of it may have been written. */
function saveFailure(error: Error): Failure {
  return error instanceof Failure
    ? error
    : new Failure(exitCodes.unavailable, `The download was interrupted: ${reasonOf(error)}.`);
}

/** An AggregateError of several addresses has no message. */
function reasonOf(error: Error): string {
  return printable(error.message || ((error as NodeJS.ErrnoException).code ?? error.name));
}
