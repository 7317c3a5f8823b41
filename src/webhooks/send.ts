import http from 'node:http';
import https from 'node:https';
import { Webhook } from 'standardwebhooks';
import { lookUpPublic, requirePublicHost } from './public-address';

/** How long a receiver may take to answer, its name and the connection included: Standard Webhooks wants 15 to 30 s. */
export const webhookMilliseconds = 15_000;

/** Of an answer, nothing is wanted but its status; whoever says more than this is cut off. */
const webhookAnswerBytes = 16 * 1024;

/** A message as it goes over the wire. */
export interface Message {
  id: string;
  /** JSON. */
  body: string;
}

/** How a message is sent. */
export interface SendOptions {
  /** Whether it may go to private addresses, and without TLS. */
  privateAddresses: boolean;
  /** Gives it up. */
  signal?: AbortSignal;
}

/**
 * Posts a message to a URL, signed as Standard Webhooks has it, and does not follow where it is sent elsewhere. The answer
 * counts by its status alone: little more of it is read, and nothing is kept. Settles in time, whatever the receiver does.
 * @param secret - `whsec_` and Base64
 * @returns the status
 * @throws PrivateAddressError; an error that says so when there is no answer in time, or none at all; whatever the network
 * throws
 */
export function send(
  address: string,
  secret: string,
  { id, body }: Message,
  { privateAddresses, signal }: SendOptions,
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
        // A connection of its own, so that the address that was looked at is the one that is reached.
        agent: false,
        ...(!privateAddresses && { lookup: lookUpPublic }),
        signal,
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'user-agent': 'Partner-Catalog-Webhooks/1.0',
          'webhook-id': id,
          'webhook-timestamp': Math.floor(now.getTime() / 1000),
          'webhook-signature': new Webhook(secret).sign(id, now, body),
        },
      },
      (answer) => {
        resolve(answer.statusCode!);
        readLittle(answer);
      },
    );
    const timer = setTimeout(() => {
      const late = new Error(`no answer within ${webhookMilliseconds / 1000} s`);
      reject(late);
      sending.destroy(late);
    }, webhookMilliseconds);
    sending.on('error', reject);
    // All that there is when somebody answers that he goes on with another protocol, for example.
    sending.on('close', () => {
      clearTimeout(timer);
      reject(new Error('the connection was closed without an answer'));
    });
    sending.end(body);
  });
}

/** So that a receiver that has more to say than a status is not cut off amid it, unless it goes on for too long. */
function readLittle(answer: http.IncomingMessage): void {
  let bytes = 0;
  answer.on('error', () => undefined);
  answer.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > webhookAnswerBytes) answer.destroy();
  });
}
