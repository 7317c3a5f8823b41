import http from 'node:http';
import https from 'node:https';
import { Webhook } from 'standardwebhooks';
import { lookUpPublic, requirePublicHost } from '../base/public-address';

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

export interface SendOptions {
  /** Allows private addresses, and HTTP without TLS. */
  privateAddresses: boolean;
  /** Default: `webhookLimits.requestMilliseconds`. */
  milliseconds?: number;
  signal?: AbortSignal;
}

/**
 * Posts a message to a URL, signed by the rules of Standard Webhooks. Follows no redirects, and ends at the timeout.
 * @param secrets - `whsec_` and Base64 each; each signs the message
 * @returns the status
 * @throws PrivateAddressError, an error of the network, a timeout
 */
export function send(
  address: string,
  secrets: string[],
  { id, body }: Message,
  { privateAddresses, milliseconds = webhookLimits.requestMilliseconds, signal }: SendOptions,
): Promise<number> {
  const url = new URL(address);
  const now = new Date();
  return new Promise((resolve, reject) => {
    if (!privateAddresses) requirePublicHost(url);
    const { request } = url.protocol === 'http:' && privateAddresses ? http : https;
    const sending = request(
      url,
      {
        method: 'POST',
        // A new connection: its address is the checked one.
        agent: false,
        ...(!privateAddresses && { lookup: lookUpPublic }),
        signal,
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'user-agent': 'Partner-Catalog-Webhooks/1.0',
          'webhook-id': id,
          'webhook-timestamp': Math.floor(now.getTime() / 1000),
          'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, now, body)).join(' '),
        },
      },
      (response) => {
        resolve(response.statusCode!);
        discardBody(response);
      },
    );
    const timer = setTimeout(() => {
      const timeout = new Error(`no response within ${milliseconds / 1000} s`);
      reject(timeout);
      sending.destroy(timeout);
    }, milliseconds);
    sending.on('error', reject);
    // The only event after `101 Switching Protocols`.
    sending.on('close', () => {
      clearTimeout(timer);
      reject(new Error('the connection was closed without a response'));
    });
    sending.end(body);
  });
}

/** Reads a short body to its end, so that the receiver sees no broken connection; cuts a long one. */
function discardBody(response: http.IncomingMessage): void {
  let bytes = 0;
  response.on('error', () => undefined);
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > webhookLimits.responseBytesMax) response.destroy();
  });
}
