import type { IncomingMessage } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { requestOutbound, type OutboundRoute } from '../base/outbound';

/** Limits of an attempt to deliver an event. */
export const webhookLimits = {
  /** Timeout, DNS and connection included: Standard Webhooks recommends 15 to 30 s. */
  requestMilliseconds: 15_000,

  /** Timeout of a ping, whose caller waits. */
  pingMilliseconds: 5_000,

  /** Only the status code is used; the response body is discarded, and cut beyond this size. */
  responseBytesMax: 16 * 1024,
};

interface Message {
  id: string;
  /** JSON. */
  body: string;
}

/** The route that allows private addresses also allows HTTP without TLS. */
export interface SendOptions extends OutboundRoute {
  /** Default: `webhookLimits.requestMilliseconds`. */
  milliseconds?: number;
  signal?: AbortSignal;
}

/**
 * Posts a message to a URL, signed by the rules of Standard Webhooks. Follows no redirects, and ends at the timeout.
 * @param secrets - `whsec_` and Base64 each; each signs the message
 * @returns the status
 * @throws PrivateAddressError, OutboundProxyError, an error of the network, a timeout; the reason of the signal
 */
export async function send(
  address: string,
  secrets: string[],
  { id, body }: Message,
  { milliseconds = webhookLimits.requestMilliseconds, signal, ...route }: SendOptions,
): Promise<number> {
  const url = new URL(address);
  if (url.protocol !== 'https:' && !route.privateAddresses) throw new Error('the address has no TLS');
  const now = new Date();
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'user-agent': 'Partner-Catalog-Webhooks/1.0',
    'webhook-id': id,
    'webhook-timestamp': Math.floor(now.getTime() / 1000),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, now, body)).join(' '),
  };
  const response = await requestOutbound(url, { method: 'POST', headers, body, milliseconds, signal }, route);
  discardBody(response, milliseconds);
  return response.statusCode!;
}

/** Reads a short body to its end, so that the receiver sees no broken connection; cuts a long or slow one. */
function discardBody(response: IncomingMessage, milliseconds: number): void {
  let bytes = 0;
  const timer = setTimeout(() => response.destroy(), milliseconds);
  response.on('close', () => clearTimeout(timer));
  response.on('error', () => undefined);
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > webhookLimits.responseBytesMax) response.destroy();
  });
}
