import type { components } from '../../../generated/openapi';
import { raw, sql, type Sql } from '../../base/db/sql';
import { writtenJson } from '../../base/exact-json';

/* The JSON of an order. PostgreSQL writes it for responses of any size: objects of 1,000 items would block the event loop. */

/** An identifier in the form of `formatId`. */
const idSql = (prefix: string, number: string): Sql =>
  raw(`'${prefix}' || lpad(cast(${number} as text), greatest(5, length(cast(${number} as text))), '0')`);

/** The members of an order item, from its row. */
const itemMembers = sql`
  ${idSql('OI', 'order_item_id')} as order_item_id, ${idSql('PR', 'product_id')} as product_id, sku, product_name, quantity,
  trim_scale(unit_price) as unit_price, trim_scale(line_total) as line_total
`;

/** Selects `order_id` and `items`, a JSON array in the order of the request, from a table of order items. */
export const itemsJsonSql = (table: string, where = raw('true')): Sql => sql`
  select order_id, array_to_json(array_agg(row_to_json(member) order by ${raw(table)}.order_item_id)) as items
  from ${raw(table)} cross join lateral (select ${itemMembers}) as member
  where ${where}
  group by order_id
`;

/** Selects the JSON text of an order, `body`, from the relations in scope: its row `order`, and its `items`. */
export const orderJsonSql = (order: string): Sql => sql`
  select cast(row_to_json(member) as text) as body
  from (
    select ${idSql('OR', `${order}.order_id`)} as order_id, partner_name, customer_reference, status,
      trim_scale(total_amount) as total_amount, currency,
      to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as created_at,
      coalesce(items, '[]') as items
  ) as member
`;

/** Maps the JSON of an order, `body`, to its representation, which has no members. */
export const orderBody = ({ body }: { body: string }) => writtenJson(body) as components['schemas']['Order'];
