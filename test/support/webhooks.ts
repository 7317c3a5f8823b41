import { createServer as createHttpServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import type { Database } from '../../src/base/db/database';
import { insertEndpoint, type EndpointRow } from '../../src/webhooks/endpoints.repository';
import type { EventBody, EventType } from '../../src/base/db/outbox';
import { afterFile } from './harness';
import Ajv, { type ErrorObject } from 'ajv';
import addFormats from 'ajv-formats';
import document from '../../generated/openapi.json';

/** The events of endpoints that `sendTo` creates. */
const secret = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD';

/** A received message. */
export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  text: string;
  /** The message as verified by the Standard Webhooks library. */
  event: EventBody;
}

/** A server that receives and verifies webhooks, like a partner. It is stopped after the file. */
export interface Receiver {
  url: string;
  /** Its secret. */
  secret: string;
  /** All messages in order of arrival. */
  received: Received[];
  /** The received events, without times. */
  events(): Pick<EventBody, 'type' | 'data'>[];
  /** Its response from now on: a status, or none. Called with the number of the message, from 1. */
  answer: (count: number) => { status: number; headers?: Record<string, string> } | 'nothing';
}

/** Starts a receiver. It responds with 400 if it cannot verify a message. @param tls - key and certificate; absent: plain HTTP */
export async function startReceiver(
  options: { tls?: { key: string; cert: string } } = {},
): Promise<Receiver> {
  const receiver: Receiver = {
    url: '',
    secret,
    received: [],
    events: () => receiver.received.map(({ event: { type, data } }) => ({ type, data }) as EventBody),
    answer: () => ({ status: 204 }),
  };
  const listener: RequestListener = (request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => (text += part));
    request.on('end', () => {
      const { url: path = '', headers } = request;
      try {
        const event = new Webhook(receiver.secret).verify(
          text,
          headers as Record<string, string>,
        ) as EventBody;
        receiver.received.push({ path, headers, text, event });
      } catch {
        response.writeHead(400).end();
        return;
      }
      const answer = receiver.answer(receiver.received.length);
      if (answer !== 'nothing') response.writeHead(answer.status, answer.headers).end('Thank you');
    });
  };
  const { tls } = options;
  const server = tls ? createHttpsServer(tls, listener) : createHttpServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterFile(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  receiver.url = `${tls ? 'https' : 'http'}://localhost:${port}/events?from=catalog`;
  return receiver;
}

/** Creates a webhook for a URL, optionally of one partner and of some types. @returns its number */
export function sendTo(
  db: Database,
  url: string,
  only: Partial<Pick<EndpointRow, 'partner_name' | 'event_types'>> = {},
): Promise<number> {
  return insertEndpoint(db, { url, secret, partner_name: null, event_types: null, ...only });
}

/** Inserts the webhook of the document's examples; it has the number 1. */
export function insertExampleWebhook(db: Database): Promise<number> {
  return sendTo(db, 'https://acme.example.org/events', {
    partner_name: 'Acme Outdoor',
    event_types: ['job.completed', 'job.failed'],
  });
}

const ajv = new Ajv({ allErrors: true, strict: false });
addFormats(ajv);
// Of OpenAPI 3.0, Ajv supports `nullable` beside `type` natively.
ajv.addSchema({ $id: 'document', components: document.components });

const schemaOf = (reference: string) => ajv.compile({ $ref: `document${reference}` });

/** Errors of the JSON body of an event by the schema of the document. */
export function bodyErrors(type: EventType, body: unknown): ErrorObject[] {
  const { schema } = document['x-webhooks'][type].post.requestBody.content['application/json'];
  const validate = schemaOf(schema.$ref);
  return validate(structuredClone(body)) ? [] : validate.errors!;
}

/** Errors of a message by the document: its body, and its required headers. */
export function eventErrors({ event, headers }: Received): (ErrorObject | string)[] {
  const { parameters } = document['x-webhooks'][event.type].post;
  const wrong = parameters.filter(({ $ref }) => {
    const name = $ref.split('/').at(-1) as 'WebhookId' | 'WebhookTimestamp' | 'WebhookSignature';
    const { name: header, schema } = document.components.parameters[name];
    const value = headers[header];
    return !schemaOf(`${$ref}/schema`)(schema.type === 'integer' ? Number(value) : value);
  });
  return [...bodyErrors(event.type, event), ...wrong.map(({ $ref }) => $ref)];
}
