/** Peer: fastify with response schemas, and Drizzle with prepared statements. */
import type { AddressInfo } from 'node:net';
import { desc, eq, getTableColumns, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { index, integer, numeric, pgTable, text, timestamp, unique } from 'drizzle-orm/pg-core';
import Fastify from 'fastify';
import { Pool } from 'pg';
import {
  loadInBatches,
  numberOf,
  pageSize,
  readSettings,
  reportPort,
  toPage,
  toProduct,
  type LoadRequest,
} from './peer';

const products = pgTable(
  'products',
  {
    id: integer('id').primaryKey().generatedByDefaultAsIdentity(),
    partnerName: text('partner_name').notNull(),
    sku: text('sku').notNull(),
    productName: text('product_name').notNull(),
    description: text('description'),
    brand: text('brand'),
    category: text('category'),
    price: numeric('price', { precision: 16, scale: 4 }),
    currency: text('currency'),
    availability: text('availability'),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  },
  (table) => [
    unique('products_partner_name_sku').on(table.partnerName, table.sku),
    index('products_created_at_id').on(table.createdAt, table.id),
  ],
);

const { database, connections, apiKey } = readSettings();
const db = drizzle({ client: new Pool({ ...database, max: connections }) });

const { id, createdAt, partnerName, sku, ...updated } = getTableColumns(products);
const updatedNames = Object.values(updated).map(({ name }) => name);
const excluded = Object.fromEntries(
  Object.entries(updated).map(([key, { name }]) => [key, sql.raw(`excluded.${name}`)]),
);
const listOf = (table: string) => sql.raw(updatedNames.map((name) => `${table}.${name}`).join(', '));
/** Unchanged rows are not updated. */
const isChanged = sql`(${listOf('products')}) is distinct from (${listOf('excluded')})`;

const page = db
  .select()
  .from(products)
  .orderBy(desc(createdAt), desc(id))
  .limit(pageSize + 1)
  .prepare('page');
const product = db
  .select()
  .from(products)
  .where(eq(id, sql.placeholder('id')))
  .prepare('product');

const app = Fastify();

app.addHook('onRequest', async (request, reply) => {
  if (request.headers['x-api-key'] !== apiKey) await reply.code(401).send({ detail: 'Unauthorized' });
});

const string = { type: 'string' };
const optionalString = { type: ['string', 'null'] };
const productSchema = {
  type: 'object',
  properties: {
    product_id: string,
    partner_name: string,
    sku: string,
    product_name: string,
    description: optionalString,
    brand: optionalString,
    category: optionalString,
    price: { type: ['number', 'null'] },
    currency: optionalString,
    availability: optionalString,
    created_at: string,
  },
};
const pageSchema = {
  type: 'object',
  properties: {
    count: { type: 'integer' },
    items: { type: 'array', items: productSchema },
    next_cursor: string,
  },
};

app.post<{ Body: LoadRequest }>('/loads', ({ body }) =>
  loadInBatches(body, (batch) =>
    db
      .insert(products)
      .values(batch)
      .onConflictDoUpdate({ target: [partnerName, sku], set: excluded, setWhere: isChanged }),
  ),
);

app.get('/products', { schema: { response: { 200: pageSchema } } }, async () => toPage(await page.execute()));

app.get<{ Params: { product_id: string } }>(
  '/products/:product_id',
  { schema: { response: { 200: productSchema } } },
  async ({ params }, reply) => {
    const [row] = await product.execute({ id: numberOf(params.product_id) });
    return row ? toProduct(row) : reply.code(404).send({ detail: 'Not Found' });
  },
);

void app
  .listen({ port: 0, host: '127.0.0.1' })
  .then(() => reportPort((app.server.address() as AddressInfo).port));
