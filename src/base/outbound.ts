import { once } from 'node:events';
import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { checkServerIdentity, TLSSocket, type PeerCertificate } from 'node:tls';
import { HttpProxyAgent } from 'http-proxy-agent';
import { HttpsProxyAgent } from 'https-proxy-agent';
import { literalAddress, lookUpPublic, PrivateAddressError, requirePublicHost } from './public-address';

/** How requests to receivers and sources leave the service. */
export interface OutboundRoute {
  /** Allows private addresses. */
  privateAddresses: boolean;
  /** The proxy of `OUTBOUND_PROXY`, which resolves host names; absent: direct connections. */
  proxy?: URL;
}

export interface OutboundRequest {
  /** Default: GET. */
  method?: 'POST';
  headers: http.OutgoingHttpHeaders;
  body?: string;
  /** Maximum time until the head of the response: DNS, proxy, connection and TLS included. */
  milliseconds: number;
  /** Aborts the request, and the response while it is read. */
  signal?: AbortSignal;
}

/** The head of the response did not arrive in time. */
export class ResponseTimeoutError extends Error {
  constructor(milliseconds: number) {
    super(`no response within ${milliseconds / 1000} s`);
  }
}

/** The outbound proxy opened no connection. The message names neither its address nor its credentials. */
export class OutboundProxyError extends Error {
  /** @param refusal - its status for the host of the request; absent: the proxy itself cannot be used */
  constructor(
    message: string,
    readonly refusal?: number,
    cause?: unknown,
  ) {
    super(`the outbound proxy ${message}`, { cause });
  }
}

/**
 * Sends a request on a new connection, and follows no redirects. Unless private addresses are allowed, a direct connection goes to a
 * checked address; for a proxy, which resolves names, only an address in the URL is checked, and `localhost`.
 * @returns the response, whose body the caller must read or destroy
 * @throws PrivateAddressError, ResponseTimeoutError, OutboundProxyError, an error of the network; the reason of the signal
 */
export function requestOutbound(
  url: URL,
  { method, headers, body, milliseconds, signal }: OutboundRequest,
  route: OutboundRoute,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    // Not `destroy` of the request: it has no socket while an agent connects to the proxy.
    const ending = new AbortController();
    const end = (error: unknown) => {
      reject(error);
      ending.abort();
    };
    const { request } = url.protocol === 'http:' ? http : https;
    const connection = connectionOf(url, route, ending.signal);
    const sending = request(url, { method, headers, signal: ending.signal, ...connection }, (response) => {
      if (route.proxy && url.protocol === 'http:' && response.statusCode === 407) end(wrongCredentials());
      else resolve(response);
    });
    const onAbort = () => end(signal?.reason);
    signal?.addEventListener('abort', onAbort);
    const timer = setTimeout(() => end(new ResponseTimeoutError(milliseconds)), milliseconds);
    sending.on('response', () => clearTimeout(timer));
    sending.on('error', reject);
    // The only event after `101 Switching Protocols`.
    sending.on('close', () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      reject(new Error('the connection was closed without a response'));
    });
    sending.end(body);
  });
}

/** @throws PrivateAddressError */
function connectionOf(
  url: URL,
  { privateAddresses, proxy }: OutboundRoute,
  signal: AbortSignal,
): Pick<https.RequestOptions, 'agent' | 'lookup' | 'path' | 'checkServerIdentity'> {
  if (!privateAddresses) requirePublicHost(url);
  // A new connection each time: its address is the checked one.
  if (!proxy) return { agent: false, ...(!privateAddresses && { lookup: lookUpPublic }) };
  if (!privateAddresses && isLoopbackName(url.hostname)) throw new PrivateAddressError(url.hostname);
  const options = { signal, servername: literalAddress(proxy) === undefined ? proxy.hostname : undefined };
  if (url.protocol === 'http:') {
    // The agent would take the host of a path such as `//host/` for that of the URL.
    const path = `${url.origin}${url.pathname}${url.search}`;
    return { agent: new ForwardingAgent(proxy, options), path };
  }
  const address = literalAddress(url);
  return {
    agent: new TunnelingAgent(proxy, options),
    // The agent does not tell TLS the address.
    ...(address !== undefined && {
      checkServerIdentity: (_host: string, certificate: PeerCertificate) =>
        checkServerIdentity(address, certificate),
    }),
  };
}

/** Names that are loopback everywhere (RFC 6761): the proxy would connect to its own machine. */
const isLoopbackName = (hostname: string) => /(?:^|\.)localhost\.?$/.test(hostname);

const wrongCredentials = () =>
  new OutboundProxyError('responded with 407: OUTBOUND_PROXY needs other credentials');

function unusable(error: unknown): never {
  const { code } = error as NodeJS.ErrnoException;
  throw new OutboundProxyError(`could not be used${code ? ` (${code})` : ''}`, undefined, error);
}

type ConnectOptions = Parameters<HttpsProxyAgent<string>['connect']>[1];

/** Requests https URLs through a tunnel by CONNECT, of whose content the proxy sees nothing. */
class TunnelingAgent extends HttpsProxyAgent<string> {
  override async connect(request: ClientRequest, options: ConnectOptions): Promise<Socket> {
    let status = 0;
    request.once('proxyConnect', ({ statusCode }: { statusCode: number }) => (status = statusCode));
    const socket = await super.connect(request, options).catch(unusable);
    if (status === 200) return socket;
    // The library would present it as a response of the server.
    throw status === 407 ? wrongCredentials() : new OutboundProxyError(`responded with ${status}`, status);
  }
}

/** Requests http URLs, which the proxy forwards. */
class ForwardingAgent extends HttpProxyAgent<string> {
  override async connect(...opening: Parameters<HttpProxyAgent<string>['connect']>): Promise<Socket> {
    try {
      const socket = await super.connect(...opening);
      if (socket instanceof TLSSocket) await once(socket, 'secureConnect');
      return socket;
    } catch (error) {
      return unusable(error);
    }
  }
}
