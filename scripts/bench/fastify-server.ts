/** Comparison server: fastify and pg with schemas for requests and responses, without a log. */
import type { AddressInfo } from 'node:net';
import Fastify from 'fastify';
import document from '../../generated/openapi.json';
import {
  numberOf,
  openPool,
  openReader,
  readOrder,
  reportPort,
  toPage,
  toProduct,
  type PageQuery,
} from './comparison';
import { addOrders } from './fastify-orders';

const order = readOrder();
const pool = openPool(order);
const read = openReader(order, pool);
// `example` is not a keyword of Ajv.
const app = Fastify({ ajv: { customOptions: { strict: false } } });

app.addHook('onRequest', async (request, reply) => {
  reply.headers(order.headers);
  if (request.headers['x-api-key'] !== order.apiKey) await reply.code(401).send({ detail: 'Unauthorized' });
});

interface Parameter {
  name: string;
  in: string;
  schema: { $ref?: string };
}

/** Combines the declared parameters of an operation into a schema. */
function parametersOf(operation: { parameters: object[] }, place: 'query' | 'path'): object {
  const shared = document.components.parameters as Record<string, object>;
  const declared = operation.parameters
    .map((parameter) => resolve(parameter, shared) as Parameter)
    .filter((parameter) => parameter.in === place);
  return {
    type: 'object',
    properties: Object.fromEntries(declared.map(({ name, schema }) => [name, resolve(schema, schemas)])),
    additionalProperties: false,
  };
}

const schemas = document.components.schemas as Record<string, object>;

function resolve(part: { $ref?: string }, components: Record<string, object>): object {
  return part.$ref === undefined ? part : components[part.$ref.split('/').pop()!]!;
}

const text = { type: 'string' };
const optional = (type: string, inList: boolean) => ({ type: inList ? type : [type, 'null'] });

function productSchema(inList: boolean) {
  return {
    type: 'object',
    properties: {
      product_id: text,
      feed_id: text,
      partner_name: text,
      sku: text,
      product_name: text,
      description: optional('string', inList),
      brand: optional('string', inList),
      category: optional('string', inList),
      price: optional('number', inList),
      currency: optional('string', inList),
      availability: optional('string', inList),
      created_at: text,
    },
  };
}

const pageSchema = {
  type: 'object',
  properties: {
    count: { type: 'integer' },
    items: { type: 'array', items: productSchema(true) },
    next_cursor: text,
  },
};

app.get<{ Querystring: PageQuery }>(
  '/products',
  {
    schema: {
      querystring: parametersOf(document.paths['/products'].get, 'query'),
      response: { 200: pageSchema },
    },
  },
  async ({ query }) => toPage(await read.page(query)),
);

app.get<{ Params: { product_id: string } }>(
  '/products/:product_id',
  {
    schema: {
      params: parametersOf(document.paths['/products/{product_id}'].get, 'path'),
      response: { 200: productSchema(false) },
    },
  },
  async ({ params }) => toProduct(await read.product(numberOf(params.product_id))),
);

addOrders(app, order, pool);

void app
  .listen({ port: 0, host: '127.0.0.1' })
  .then(() => reportPort((app.server.address() as AddressInfo).port));
