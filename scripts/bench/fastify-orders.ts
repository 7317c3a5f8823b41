import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { Pool, PoolClient } from 'pg';
import { formatted, numberOf, statementsOf, type ComparisonOrder, type Statements } from './comparison';

interface OrderRequest {
  partner_name: string;
  customer_reference?: string | null;
  items: { product_id: string; quantity: number }[];
}

interface OrderRow {
  order_id: string;
  created_at: Date;
}

interface OrderableRow {
  product_id: string;
  sku: string;
  product_name: string;
  price: string;
  currency: string;
  availability: string;
}

interface ItemRow {
  order_item_id: string;
  product_id: string;
  sku: string;
  product_name: string;
  quantity: number;
  unit_price: string;
  line_total: string;
}

const text = { type: 'string' };
const number = { type: 'number' };
const bodySchema = {
  type: 'object',
  required: ['partner_name', 'items'],
  properties: {
    partner_name: { type: 'string', minLength: 1 },
    customer_reference: { type: ['string', 'null'] },
    items: {
      type: 'array',
      minItems: 1,
      maxItems: 1_000,
      items: {
        type: 'object',
        required: ['product_id', 'quantity'],
        properties: { product_id: text, quantity: { type: 'integer', minimum: 1, maximum: 1_000_000 } },
      },
    },
  },
};
const responseSchema = {
  type: 'object',
  properties: {
    order_id: text,
    partner_name: text,
    customer_reference: { type: ['string', 'null'] },
    status: text,
    total_amount: number,
    currency: text,
    created_at: text,
    items: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          order_item_id: text,
          product_id: text,
          sku: text,
          product_name: text,
          quantity: number,
          unit_price: number,
          line_total: number,
        },
      },
    },
  },
};

/** Creates each order in a transaction of its own, as in a typical handler with pg. */
export function addOrders(app: FastifyInstance, order: ComparisonOrder, pool: Pool): void {
  const statement = statementsOf(order);
  app.post<{ Body: OrderRequest }>(
    '/orders',
    { schema: { body: bodySchema, response: { 201: responseSchema } } },
    async ({ body, headers }, reply) => {
      const idempotencyKey = headers['idempotency-key'];
      const client = await pool.connect();
      try {
        await client.query('begin');
        const created =
          typeof idempotencyKey === 'string'
            ? await createOnce(client, statement, { apiKey: order.apiKey, idempotencyKey, body })
            : await create(client, statement, body);
        await client.query('commit');
        return await reply.code(201).send(created);
      } catch (error) {
        await client.query('rollback');
        throw error;
      } finally {
        client.release();
      }
    },
  );
}

const digestOf = (value: string) => createHash('sha256').update(value).digest();

async function createOnce(
  client: PoolClient,
  statement: Statements,
  { apiKey, idempotencyKey, body }: { apiKey: string; idempotencyKey: string; body: OrderRequest },
): Promise<object> {
  const keyed = [digestOf(apiKey), idempotencyKey];
  const { rowCount } = await client.query(
    statement(
      'claim key',
      `insert into idempotency_keys (api_key_digest, idempotency_key, request_digest, response_body, expires_at)
       values ($1, $2, $3, '{}', now() + interval '24 hours') on conflict do nothing`,
      [...keyed, digestOf(JSON.stringify(body))],
    ),
  );
  if (rowCount === 0) {
    const { rows } = await client.query<{ response_body: object }>(
      statement(
        'read key',
        'select response_body from idempotency_keys where api_key_digest = $1 and idempotency_key = $2',
        keyed,
      ),
    );
    return rows[0]!.response_body;
  }
  const order = await create(client, statement, body);
  await client.query(
    statement(
      'keep response',
      'update idempotency_keys set response_body = $3 where api_key_digest = $1 and idempotency_key = $2',
      [...keyed, JSON.stringify(order)],
    ),
  );
  return order;
}

async function create(client: PoolClient, statement: Statements, body: OrderRequest): Promise<object> {
  const numbers = body.items.map(({ product_id }) => numberOf(product_id));
  const { rows: found } = await client.query<OrderableRow>(
    statement(
      'products',
      'select product_id, sku, product_name, price, currency, availability from products where product_id = any($1)',
      [numbers],
    ),
  );
  const products = new Map(found.map((product) => [Number(product.product_id), product]));
  const items = body.items.map(({ quantity }, at) => ({ ...products.get(numbers[at]!)!, quantity }));
  if (items.some(({ availability }) => availability !== 'in_stock')) throw new Error('not available');
  const total = items.reduce((sum, { price, quantity }) => sum + Number(price) * quantity, 0).toFixed(4);
  const { currency } = items[0]!;
  const { rows: orders } = await client.query<OrderRow>(
    statement(
      'order',
      `insert into orders (partner_name, customer_reference, currency, total_amount) values ($1, $2, $3, $4)
       returning order_id, created_at`,
      [body.partner_name, body.customer_reference ?? null, currency, total],
    ),
  );
  const { order_id: orderId, created_at: createdAt } = orders[0]!;
  const { rows: lines } = await client.query<ItemRow>(
    statement(
      'items',
      `insert into order_items (order_id, product_id, sku, product_name, quantity, unit_price, line_total)
       select $1, product_id, sku, product_name, quantity, unit_price, unit_price * quantity
       from unnest($2::bigint[], $3::text[], $4::text[], $5::integer[], $6::numeric[])
         as line (product_id, sku, product_name, quantity, unit_price)
       returning order_item_id, product_id, sku, product_name, quantity, unit_price, line_total`,
      [
        orderId,
        numbers,
        items.map(({ sku }) => sku),
        items.map(({ product_name: name }) => name),
        items.map(({ quantity }) => quantity),
        items.map(({ price }) => price),
      ],
    ),
  );
  return {
    order_id: formatted('OR', orderId),
    partner_name: body.partner_name,
    customer_reference: body.customer_reference ?? null,
    status: 'created',
    total_amount: Number(total),
    currency,
    created_at: createdAt.toISOString(),
    items: lines.map((line) => ({
      ...line,
      order_item_id: formatted('OI', line.order_item_id),
      product_id: formatted('PR', line.product_id),
      unit_price: Number(line.unit_price),
      line_total: Number(line.line_total),
    })),
  };
}
