import Ajv, { type ErrorObject } from 'ajv';
import addFormats from 'ajv-formats';
import document from '../../generated/openapi.json';
import type { EventType } from '../../src/events/outbox';
import type { Received } from './webhook-receiver';

const ajv = new Ajv({ allErrors: true, strict: false });
addFormats(ajv);
// `nullable` beside `type` is what Ajv knows of OpenAPI 3.0 by itself.
ajv.addSchema({ $id: 'document', components: document.components });

const schemaOf = (reference: string) => ajv.compile({ $ref: `document${reference}` });

/** What the document finds wrong with the JSON body of an event. */
export function bodyErrors(type: EventType, body: unknown): ErrorObject[] {
  const { schema } = document['x-webhooks'][type].post.requestBody.content['application/json'];
  const validate = schemaOf(schema.$ref);
  return validate(structuredClone(body)) ? [] : validate.errors!;
}

/** What the document finds wrong with a message: its body, and the headers that it must have. */
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
