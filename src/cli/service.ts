import { setTimeout as pause } from 'node:timers/promises';
import {
  BodyFailure,
  exchange,
  SaveFailure,
  type ServiceResponse,
  type Exchange,
  type StreamedBody,
} from './exchange';
import { exitCodes, Failure, type FailureDetails } from './failures';
import { printable } from './printable';
import { pathText, queryText, type GetPath, type JsonOf, type QueryOf } from './requests';

/** Where the service is, and how it is asked. */
export interface ServiceAddress {
  url: URL;
  /** The API key; in no message. */
  key: string;
  /** How often a request is sent again that got no response, or a 503 or the like. */
  retries: number;
}

export interface Request {
  method: 'GET' | 'POST';
  path: string;
  headers?: Record<string, string>;
  /** Makes the body, anew for each time that it is sent; undefined where it cannot be read once more. */
  body?: () => StreamedBody | undefined;
  /** Takes the content of the response while it comes: it is not asked for again. */
  save?: Exchange['save'];
  /** Statuses to try again besides those that mean "later". */
  retriedStatuses?: number[];
  /** Asks, before a request is sent again that may have been received, whether that is still wanted. */
  isStillWanted?: () => Promise<boolean>;
  /** A status that says, of a request that may have been received before, that there is nothing left to do. */
  overStatus?: number;
}

/** 429 and what a service, or a proxy before it, says when it cannot just now. */
const laterStatuses = [429, 502, 503, 504];
/** Behind these, a proxy may have passed the request on, and lost the response. */
const lostStatuses = [502, 503, 504];
/** No longer than this between two attempts, whatever is asked for. */
const pauseSecondsMax = 60;

/** The documented API over HTTP: what fails for a while is tried again; what is refused is a `Failure` that says why. */
export class Service {
  constructor(
    readonly address: ServiceAddress,
    private readonly signal: AbortSignal,
    /** Is told, for people, when something has to be tried again. */
    private readonly note: (text: string) => void,
  ) {}

  /**
   * @param what - the request, for messages: "the upload"
   * @returns a response of 2xx or 304; undefined when the request is not wanted any more
   * @throws Failure
   */
  async ask(what: string, request: Request): Promise<ServiceResponse | undefined> {
    let mayBeReceived = false;
    for (let attempt = 0; ; attempt++) {
      const body = request.body?.();
      if (request.body && !body) throw new Failure(exitCodes.unavailable, this.brokenOff(what));
      const outcome = await this.attempt(request, body);
      if (!(outcome instanceof Error) && isSuccess(outcome)) return outcome;
      if (mayBeReceived && !(outcome instanceof Error) && outcome.status === request.overStatus)
        return undefined;
      const isLater =
        outcome instanceof Error ||
        [...laterStatuses, ...(request.retriedStatuses ?? [])].includes(outcome.status);
      if (!isLater) throw new Failure(exitCodes.refused, refusal(what, outcome), detailsOf(outcome));
      const reason =
        outcome instanceof Error
          ? `The service at ${this.name} cannot be reached: ${reasonOf(outcome)}.`
          : refusal(what, outcome);
      if (attempt >= this.address.retries) {
        const details = outcome instanceof Error ? {} : detailsOf(outcome);
        throw new Failure(exitCodes.unavailable, reason, details);
      }
      const seconds = secondsToWait(outcome, attempt);
      this.note(`${reason} Trying again in ${seconds} s (${attempt + 1} of ${this.address.retries}).`);
      await this.pause(seconds);
      mayBeReceived ||= outcome instanceof Error || lostStatuses.includes(outcome.status);
      if (mayBeReceived && request.isStillWanted && !(await request.isStillWanted())) return undefined;
    }
  }

  /** Gets a list, by its path in the document. @throws Failure, also when something else comes than a list */
  async getList<P extends GetPath>(
    what: string,
    path: P,
    { path: inPath, query = {} }: { path?: Record<string, string>; query?: QueryOf<P> | object },
  ): Promise<JsonOf<P>> {
    const response = await this.ask(what, { method: 'GET', path: pathText(path, inPath) + queryText(query) });
    const list = response!.body as { items?: unknown } | undefined;
    if (!Array.isArray(list?.items)) throw notOurs('list');
    return list as JsonOf<P>;
  }

  /**
   * Tells whether the service ends a stream of events in time. Never, for one that does not come or breaks off.
   * @throws the signal's reason
   */
  async endsWithin(seconds: number, path: string): Promise<boolean> {
    const patience = AbortSignal.timeout(seconds * 1000);
    const { address, signal } = this;
    try {
      const { status } = await exchange(this.urlOf(path), {
        method: 'GET',
        headers: { 'x-api-key': address.key, accept: 'text/event-stream' },
        signal: AbortSignal.any([signal, patience]),
      });
      return status === 200;
    } catch {
      signal.throwIfAborted();
      return false;
    }
  }

  /** Waits. @throws the signal's reason */
  async pause(seconds: number): Promise<void> {
    await pause(seconds * 1000, undefined, { signal: this.signal }).catch(() => undefined);
    this.signal.throwIfAborted();
  }

  /** The address of a path. */
  urlOf(path: string): URL {
    return new URL(this.address.url.href.replace(/\/$/, '') + path);
  }

  private get name(): string {
    return this.address.url.href.replace(/\/$/, '');
  }

  private brokenOff(what: string): string {
    return `Part of ${what} was sent before the connection broke; standard input cannot be read again.`;
  }

  /** @returns the response, or why there is none. @throws what trying again does not mend */
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

/** What was asked for, or 1, 2, 4 … seconds. */
function secondsToWait(outcome: ServiceResponse | Error, attempt: number): number {
  const asked = outcome instanceof Error ? NaN : Number(outcome.headers['retry-after']);
  return Math.min(asked > 0 ? asked : 2 ** attempt, pauseSecondsMax);
}

/** What the service said, in a line: status, detail and the id under which its log has more. */
function refusal(what: string, { status, headers, body }: ServiceResponse): string {
  const id = headers['x-request-id'];
  return printable(
    `The service answered ${what} with ${status}: ${detailOf(body)}${id ? ` (request ${id})` : ''}`,
  );
}

const isItsAddress = 'Is the address that of the service?';

/** What is wrong with a response of 200 that is not what was asked for. */
export const notOurs = (what: string) =>
  new Failure(exitCodes.refused, `The response is no ${what}. ${isItsAddress}`);

/** The text of an error body of the document: `detail`, also with one entry per error of a 422, or `message`. */
function detailOf(body: unknown): string {
  const { detail, message } = (body ?? {}) as { detail?: unknown; message?: unknown };
  if (typeof detail === 'string') return detail;
  if (typeof message === 'string') return message;
  if (!Array.isArray(detail)) return `there is no explanation. ${isItsAddress}`;
  return (detail as { loc?: unknown[]; msg?: unknown }[])
    .map(({ loc, msg }) => `${(loc ?? []).slice(1).join('.')}: ${String(msg)}`)
    .join('; ');
}

/** The response to a failed request, for `--json`. */
function detailsOf({ status, headers, body }: ServiceResponse): FailureDetails {
  return { status, request_id: headers['x-request-id'], response: body };
}

/** A download is not tried again: a part of it may have been written. */
function saveFailure(error: Error): Failure {
  return error instanceof Failure
    ? error
    : new Failure(exitCodes.unavailable, `The download broke off: ${reasonOf(error)}.`);
}

/** Errors of several addresses that were tried have no message of their own. */
function reasonOf(error: Error): string {
  return printable(error.message || ((error as NodeJS.ErrnoException).code ?? error.name));
}
