import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { lookUpPublic, PrivateAddressError, requirePublicHost } from '../../base/public-address';
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

export interface OpenUrlOptions {
  privateAddresses: boolean;
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
function get(
  url: URL,
  headers: Record<string, string>,
  { privateAddresses, signal }: OpenUrlOptions,
): Promise<IncomingMessage> {
  return new Promise<IncomingMessage>((resolve, reject) => {
    if (!privateAddresses) requirePublicHost(url);
    const { request } = url.protocol === 'http:' ? http : https;
    const sending = request(
      url,
      {
        // A new connection: its address is the checked one.
        agent: false,
        ...(!privateAddresses && { lookup: lookUpPublic }),
        signal,
        headers: { 'user-agent': 'Partner-Catalog-Sources/1.0', 'accept-encoding': 'gzip', ...headers },
      },
      resolve,
    );
    const timer = setTimeout(() => sending.destroy(timeout()), openUrlLimits.idleMilliseconds);
    sending.on('response', () => clearTimeout(timer));
    sending.on('error', reject);
    // The only event after `101 Switching Protocols`.
    sending.on('close', () => {
      clearTimeout(timer);
      reject(new Error('the connection was closed without a response'));
    });
    sending.end();
  }).catch((error: unknown) => {
    signal.throwIfAborted();
    throw connectionFailure(error);
  });
}

const timeout = () =>
  new FetchFailure(
    'timeout',
    `The server did not respond within ${openUrlLimits.idleMilliseconds / 1000} seconds.`,
    { isTransient: true },
  );

/** Describes an error of the network, without the requested address. */
export function connectionFailure(error: unknown): FetchFailure {
  if (error instanceof FetchFailure) return error;
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
