import type { IncomingMessage } from 'node:http';
import {
  OutboundProxyError,
  requestOutbound,
  ResponseTimeoutError,
  type OutboundRoute,
} from '../../base/outbound';
import { PrivateAddressError } from '../../base/public-address';
import { FetchFailure } from './fetch-failure';

/** Limits of a request to the server of a source. */
export const openUrlLimits = {
  redirectsMax: 5,

  /** Maximum time until the head of a response, DNS, connection and TLS included; window of the throughput of its content. */
  idleMilliseconds: 30_000,
};

export interface UrlRequest {
  url: string;
  /** Sent to the origin of `url` only. */
  secretHeaders: Record<string, string>;
  /** Sent to every origin. */
  headers: Record<string, string>;
}

export interface OpenUrlOptions extends OutboundRoute {
  signal: AbortSignal;
}

const redirectStatuses = new Set([301, 302, 303, 307, 308]);

/**
 * Requests a URL, and follows redirects. Each address is checked when the connection is opened.
 * @returns the response, which the caller must read or destroy; its status is no redirect
 * @throws FetchFailure; the reason of the signal
 */
export async function openUrl(request: UrlRequest, options: OpenUrlOptions): Promise<IncomingMessage> {
  let url = parseUrl(request.url);
  const { origin } = url;
  for (let redirects = 0; ; redirects++) {
    const headers =
      url.origin === origin ? { ...request.headers, ...request.secretHeaders } : request.headers;
    const response = await get(url, headers, options);
    const {
      statusCode,
      headers: { location },
    } = response;
    if (!redirectStatuses.has(statusCode!)) return response;
    response.destroy();
    if (redirects === openUrlLimits.redirectsMax)
      throw redirectFailure(
        response,
        'too_many_redirects',
        `There are more than ${openUrlLimits.redirectsMax} redirects. Use the final URL.`,
      );
    url = redirectTarget(url, location, response);
  }
}

/** Parses the URL of a source; another version of Node.js may have accepted it. @throws FetchFailure */
function parseUrl(url: string): URL {
  if (URL.canParse(url)) return new URL(url);
  throw new FetchFailure('wrong_url', 'The URL cannot be read: send the source with another one.');
}

function redirectTarget(from: URL, location: string | undefined, response: IncomingMessage): URL {
  const target =
    location !== undefined && URL.canParse(location, from.href) ? new URL(location, from) : undefined;
  if (!target || !['http:', 'https:'].includes(target.protocol) || target.username || target.password)
    throw redirectFailure(
      response,
      'wrong_redirect',
      'The server redirects to an address that is missing, has a password, or is neither http nor https. Use the final URL.',
    );
  if (from.protocol === 'https:' && target.protocol === 'http:')
    throw redirectFailure(
      response,
      'insecure_redirect',
      'The server redirects from https to http. Use the final URL, with https.',
    );
  return target;
}

const redirectFailure = ({ statusCode }: IncomingMessage, code: string, sentence: string) =>
  new FetchFailure(code, sentence, { httpStatus: statusCode });

/** @throws FetchFailure; the reason of the signal */
async function get(
  url: URL,
  given: Record<string, string>,
  { signal, ...route }: OpenUrlOptions,
): Promise<IncomingMessage> {
  const headers = {
    'user-agent': 'Partner-Catalog-Sources/1.0',
    'accept-encoding': 'gzip',
    ...given,
  };
  const milliseconds = openUrlLimits.idleMilliseconds;
  try {
    return await requestOutbound(url, { headers, milliseconds, signal }, route);
  } catch (error) {
    signal.throwIfAborted();
    throw connectionFailure(error);
  }
}

const timeout = () =>
  new FetchFailure(
    'timeout',
    `The server did not respond within ${openUrlLimits.idleMilliseconds / 1000} seconds.`,
    { isTransient: true },
  );

/** A proxy that cannot be used is a fault of the service; one that opens no connection to the host is like an unreachable host. */
function proxyFailure(cause: OutboundProxyError): FetchFailure {
  const { refusal } = cause;
  if (refusal === undefined)
    return new FetchFailure('unavailable', 'The outbound proxy of the service could not be used.', {
      isTransient: true,
      isServiceFault: true,
      cause,
    });
  const isTransient = refusal >= 500;
  const sentence = isTransient
    ? 'The outbound proxy of the service could not connect to the host.'
    : 'The outbound proxy of the service refuses the host or its port. Ask the operator to allow it.';
  return new FetchFailure('connection', sentence, { detail: `proxy ${refusal}`, isTransient });
}

/** Describes an error of the network, without the requested address. */
export function connectionFailure(error: unknown): FetchFailure {
  if (error instanceof FetchFailure) return error;
  if (error instanceof ResponseTimeoutError) return timeout();
  if (error instanceof OutboundProxyError) return proxyFailure(error);
  if (error instanceof PrivateAddressError) {
    return new FetchFailure(
      'private_address',
      'The host, or one that it redirects to, has an address that is not public. Use a public URL, or ask the operator to allow private addresses.',
    );
  }
  const { code } = error as NodeJS.ErrnoException;
  return new FetchFailure('connection', 'The connection failed or was interrupted.', {
    detail: typeof code === 'string' ? code : undefined,
    isTransient: true,
  });
}
