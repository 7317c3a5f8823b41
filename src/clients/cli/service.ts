import { setTimeout as pause } from 'node:timers/promises';
import createClient, { type Client } from 'openapi-fetch';
import type { paths } from '../../../generated/openapi';
import { exitCodes, Failure, type FailureDetails } from './failures';
import { printable } from './printable';
import { sendToService } from './send-to-service';

export interface ServiceAddress {
  url: URL;
  /** Never in a message. */
  key: string;
  /** Retries of a request without a response, or with a temporary error. */
  retries: number;
}

/** The outcome of one call of `api`. */
export interface Received<Body> {
  data?: Body;
  error?: unknown;
  response: Response;
}

export interface RetryRules {
  retriedStatuses?: number[];
  /** Checks, before the retry of a request that may have been received, whether it is still needed. */
  isStillNeeded?: () => Promise<boolean>;
  /** The status of a retry if an earlier attempt was received. */
  doneStatus?: number;
}

/** What a body is, for a message, and a member that it must have. */
export type Kind<Body> = readonly [name: string, member: keyof Body];

export const list = ['a list', 'items'] as const;

const retriedStatuses = [429, 502, 503, 504];
/** A proxy may have forwarded the request, and lost the response. */
const lostStatuses = [502, 503, 504];
/** Limit for `Retry-After` and the backoff. */
const pauseSecondsMax = 60;

/** Calls the API with retries; an error response is a `Failure` with its reason. */
export class Service {
  /** The operations of the document. Each call is one attempt: `ask` and `askFor` retry it. */
  readonly api: Client<paths>;

  constructor(
    readonly address: ServiceAddress,
    private readonly signal: AbortSignal,
    private readonly note: (text: string) => void,
  ) {
    this.api = createClient<paths>({
      baseUrl: this.name,
      headers: { accept: 'application/json', 'x-api-key': address.key },
      fetch: sendToService,
      signal,
    });
  }

  /** @returns a response of 2xx or 304; undefined if the request is no longer needed. @throws Failure */
  async ask<Body>(
    what: string,
    send: () => Promise<Received<Body>>,
    rules: RetryRules = {},
  ): Promise<Received<Body> | undefined> {
    let mayBeReceived = false;
    for (let attempt = 0; ; attempt++) {
      const outcome = await this.attempt(send);
      const status = outcome instanceof Error ? undefined : outcome.response.status;
      if (!(outcome instanceof Error) && (outcome.response.ok || status === 304)) return outcome;
      if (mayBeReceived && status !== undefined && status === rules.doneStatus) return undefined;
      const reason =
        outcome instanceof Error
          ? `The service at ${this.name} cannot be reached: ${reasonOf(outcome)}.`
          : refusal(what, outcome);
      const details = outcome instanceof Error ? {} : detailsOf(outcome);
      const isTemporary =
        status === undefined || [...retriedStatuses, ...(rules.retriedStatuses ?? [])].includes(status);
      if (!isTemporary) throw new Failure(exitCodes.refused, reason, details);
      if (attempt >= this.address.retries) throw new Failure(exitCodes.unavailable, reason, details);
      const seconds = secondsToWait(outcome, attempt);
      this.note(`${reason} Retrying in ${seconds} s (${attempt + 1} of ${this.address.retries}).`);
      await this.pause(seconds);
      mayBeReceived ||= status === undefined || lostStatuses.includes(status);
      if (mayBeReceived && rules.isStillNeeded && !(await rules.isStillNeeded())) return undefined;
    }
  }

  /** Asks for a body. @throws Failure, also for a body of another kind */
  async askFor<Body>(
    what: string,
    kind: Kind<Body>,
    send: () => Promise<Received<Body>>,
    rules?: Pick<RetryRules, 'retriedStatuses'>,
  ): Promise<Body> {
    return checkedBody(kind, (await this.ask(what, send, rules))!);
  }

  /** Tells whether the service ends a response in time; false for a failed or broken one. */
  async endsWithin(
    seconds: number,
    send: (signal: AbortSignal) => Promise<Received<unknown>>,
  ): Promise<boolean> {
    try {
      const { response } = await send(AbortSignal.any([this.signal, AbortSignal.timeout(seconds * 1000)]));
      return response.status === 200;
    } catch {
      this.signal.throwIfAborted();
      return false;
    }
  }

  /** Finds a page outside of the document, without the key. @returns its JSON; undefined without one */
  async findPage(path: string, signal: AbortSignal): Promise<unknown> {
    try {
      const response = await sendToService(new Request(this.urlOf(path), { signal }));
      return response.ok ? await response.json() : undefined;
    } catch {
      return undefined;
    }
  }

  async pause(seconds: number): Promise<void> {
    await pause(seconds * 1000, undefined, { signal: this.signal }).catch(() => undefined);
    this.signal.throwIfAborted();
  }

  urlOf(path: string): URL {
    return new URL(this.name + path);
  }

  /** Makes the failure of a broken download, which is not retried: a part of it may have been written. */
  downloadFailure(error: Error): Failure {
    this.signal.throwIfAborted();
    return error instanceof Failure
      ? error
      : new Failure(exitCodes.unavailable, `The download was interrupted: ${reasonOf(error)}.`);
  }

  private get name(): string {
    return this.address.url.href.replace(/\/$/, '');
  }

  /** @returns the outcome, or the network error. @throws errors that are not retried */
  private async attempt<Body>(send: () => Promise<Received<Body>>): Promise<Received<Body> | Error> {
    try {
      return await send();
    } catch (error) {
      this.signal.throwIfAborted();
      if (error instanceof Failure) throw error;
      if (error instanceof SyntaxError) throw unexpectedResponse('JSON');
      return error as Error;
    }
  }
}

/** Returns the body of a response. @throws Failure if it is of another kind */
export function checkedBody<Body>([name, member]: Kind<Body>, { data }: Received<Body>): Body {
  if (typeof data === 'object' && data !== null && Object.hasOwn(data, member)) return data;
  throw unexpectedResponse(name);
}

/** Makes the failure for a response of 200 with an unexpected body. */
const unexpectedResponse = (what: string) =>
  new Failure(exitCodes.refused, `Unexpected response (not ${what}). Check --url.`);

/** Returns `Retry-After`, or a backoff of 1, 2, 4 … seconds. */
function secondsToWait(outcome: Received<unknown> | Error, attempt: number): number {
  const asked = outcome instanceof Error ? NaN : Number(outcome.response.headers.get('retry-after'));
  return Math.min(asked > 0 ? asked : 2 ** attempt, pauseSecondsMax);
}

/** Formats an error response in a line: status, code, detail and request id. */
function refusal(what: string, received: Received<unknown>): string {
  const { status, error_code: code, request_id: id, response } = detailsOf(received);
  const reason = code ? `${status} (${code})` : status;
  const location = received.response.headers.get('location');
  const detail = location === null ? detailOf(response) : `it redirects to ${location}. Check --url.`;
  return printable(
    `The service responded to ${what} with ${reason}: ${detail}${id ? ` (request ${id})` : ''}`,
  );
}

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

function detailsOf({ response: { status, headers }, error }: Received<unknown>) {
  return {
    status,
    error_code: headers.get('x-error-code') ?? undefined,
    request_id: headers.get('x-request-id') ?? undefined,
    // Another text is not from the service.
    response: typeof error === 'string' ? undefined : error,
  } satisfies FailureDetails;
}

/** undici's messages for a response without its end, of a known and an unknown length. */
const truncated = /length does not match content-length|Invalid EOF state/;

/** Returns the reason of an error of the network; an AggregateError of several addresses has no message. */
function reasonOf(error: Error): string {
  const { message, code, name } = error as NodeJS.ErrnoException;
  // A message of OpenSSL names its functions and source files, too.
  const [, tlsReason] = /error:[0-9A-F]{8}:[^:]*:[^:]*:([^:]+)/.exec(message) ?? [];
  if (tlsReason !== undefined) return printable(`TLS failed (${tlsReason})`);
  if (truncated.test(message)) return 'the connection was closed before the end of the response';
  return printable(message || (code ?? name));
}
