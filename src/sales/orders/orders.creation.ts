import { queryRows, type Database } from '../../base/db/database';
import { sql, type Sql } from '../../base/db/sql';
import { publishEventsSql } from '../../base/db/outbox';
import { orderableAvailabilities } from '../../feed-format/availability';
import {
  claimSql,
  keepAnswersSql,
  type ClaimRow,
  type KeyedRequest,
} from '../../http/idempotency/idempotency.repository';
import type { PartnerScope } from '../../base/caller';
import { itemsJsonSql, orderJsonSql } from './orders.body';

export interface RequestedOrder {
  partnerName: string;
  customerReference: string | null;
  /** `productId`: undefined for a malformed id. */
  items: { productId: number | undefined; quantity: number }[];
  /** The partner whose products can be ordered. */
  scope: PartnerScope;
}

/** The JSON of a created order, or the reason for its refusal: the problem of its first faulty item, or of the whole order. */
export type Creation =
  | { body: string }
  | { problem: 'product_not_found' | 'product_not_available'; itemIndex: number }
  | { problem: 'mixed_currencies' };

/**
 * The common table expressions that make the bodies of orders: they are sent and stored without another round trip.
 * The lists are materialized: PostgreSQL expects one order, and would compute all of them again for each.
 */
const createdSql = sql`
  listed as materialized (${itemsJsonSql('new_item')}), created as materialized (
    select given_order, body
    from new_order
    join (select order_id, given_order from head) as numbered using (order_id)
    join listed using (order_id)
    cross join lateral (${orderJsonSql('new_order')}) as written
  )
`;

function givenSql(orders: readonly RequestedOrder[]): Sql {
  const partnerNames = orders.map(({ partnerName }) => partnerName);
  const references = orders.map(({ customerReference }) => customerReference);
  const scopes = orders.map(({ scope }) => scope);
  return sql`
    select * from unnest(cast(${partnerNames} as text[]), cast(${references} as text[]), cast(${scopes} as text[]))
      with ordinality as given (partner_name, customer_reference, scope, given_order)`;
}

/**
 * Returns the statement, a transaction of its own, that creates orders. It reads their products, decides on each order, and inserts
 * accepted orders with their items, so that no order can exist without items. Draws order numbers first: items refer to them.
 * @param opening - common table expressions, including `given`: the orders
 * @param closing - further ones, which may use `created`, and the query of the result
 */
function createSql(
  orders: readonly RequestedOrder[],
  defaultCurrency: string,
  opening: Sql,
  closing: Sql,
): Sql {
  const items = orders.flatMap((order) => order.items);
  const givenOrders = orders.flatMap((order, at) => order.items.map(() => at + 1));
  const productIds = items.map(({ productId }) => productId ?? null);
  const quantities = items.map(({ quantity }) => quantity);
  return sql`
    with ${opening}, line as materialized (
      select * from unnest(cast(${givenOrders} as bigint[]), cast(${productIds} as bigint[]), cast(${quantities} as integer[]))
        with ordinality as given_line (given_order, product_id, quantity, position)
      join given using (given_order)
    ), priced as materialized (
      select
        given_order, position, line.product_id, sku, product_name, quantity, price as unit_price, price * quantity as line_total,
        coalesce(currency, ${defaultCurrency}) as currency, run_id, feed_id, record_offset,
        case
          when product.product_id is null or scope <> product.partner_name then 'product_not_found'
          when withdrawn_at is not null or price is null or availability <> all (cast(${orderableAvailabilities} as text[]))
          then 'product_not_available'
        end as problem
      from line
      left join products_to_order(array(select distinct product_id from line)) as product using (product_id)
    ), decided as materialized (
      select given_order, sum(line_total) as total_amount, min(currency) as currency,
        min(position) filter (where problem is not null) as problem_position,
        coalesce(
          (array_agg(problem order by position) filter (where problem is not null))[1],
          case when min(currency) <> max(currency) then 'mixed_currencies' end
        ) as problem
      from priced group by given_order
    ), head as materialized (
      select *, nextval(pg_get_serial_sequence('orders', 'order_id')) as order_id
      from (select * from decided join given using (given_order) where problem is null order by given_order) as sorted
    ), new_order as (
      insert into orders (order_id, partner_name, customer_reference, currency, total_amount)
      overriding system value
      select order_id, partner_name, customer_reference, currency, total_amount from head
      returning *
    ), new_item as (
      insert into order_items (
        order_id, product_id, sku, product_name, quantity, unit_price, line_total, run_id, feed_id, record_offset
      )
      select
        order_id, product_id, sku, product_name, quantity, unit_price, line_total, run_id, feed_id, record_offset
      from head join priced using (given_order)
      order by position
      returning *
    ), published as materialized (${publishEventsSql(sql`
      select 'order.created' as event_type, partner_name, json_build_object('order_id', order_id) as content from new_order
    `)}), ${createdSql}
    ${closing}`;
}

interface CreationRow {
  /** From 1. */
  given_order: number;
  problem: 'product_not_found' | 'product_not_available' | 'mixed_currencies' | null;
  /** Number of the item, from 1 over all orders. */
  problem_position: number;
  body: string;
}

/**
 * Creates or refuses each order separately, at current prices. Items are checked in the given order, existence before
 * availability; the first failing item decides. Withdrawals that begin meanwhile wait for the transaction to end.
 * @param defaultCurrency - the currency of products without one
 * @returns the outcome of each, in the given order
 */
export async function createOrders(
  db: Database,
  orders: readonly RequestedOrder[],
  defaultCurrency: string,
): Promise<Creation[]> {
  // The `where` publishes the events.
  const statement = createSql(
    orders,
    defaultCurrency,
    sql`given as materialized (${givenSql(orders)})`,
    sql`
      select given_order, problem, problem_position, body
      from decided left join created using (given_order)
      where (select deliveries from published) is not null`,
  );
  const rows = await queryRows<CreationRow>(db, statement, true);
  const created = new Array<Creation>(orders.length);
  for (const row of rows) created[row.given_order - 1] = creationOf(row, orders);
  return created;
}

/**
 * Creates orders as `createOrders` does, once per key: claims the keys, finds stored responses, and stores new responses, all in the
 * same statement.
 * @param orders - with different keys
 * @returns the outcome of each, in the given order; a claim if another request has the key, or its response is stored
 */
export async function createKeyedOrders(
  db: Database,
  orders: readonly (RequestedOrder & KeyedRequest)[],
  defaultCurrency: string,
): Promise<(Creation | ClaimRow)[]> {
  const answers = sql`select given_order as request_index, cast(body as json) as body from created`;
  // The same for keys that were claimed now and have no response.
  const statement = createSql(
    orders,
    defaultCurrency,
    sql`
      claimed as materialized (${claimSql(orders)}), given as materialized (
        select given.* from (${givenSql(orders)}) as given
        join claimed on request_index = given_order where is_claimed and answered_digest is null
      )`,
    sql`
      , kept as (${keepAnswersSql(orders, answers)})
      select request_index as given_order, is_claimed, answered_digest, answered_text, problem, problem_position, body
      from claimed left join decided on given_order = request_index left join created using (given_order)
      where (select deliveries from published) is not null`,
  );
  const rows = await queryRows<CreationRow & ClaimRow>(db, statement, true);
  const created = new Array<Creation | ClaimRow>(orders.length);
  for (const row of rows) {
    const isOpen = row.is_claimed && row.answered_digest === null;
    created[row.given_order - 1] = isOpen ? creationOf(row, orders) : row;
  }
  return created;
}

function creationOf(row: CreationRow, orders: readonly RequestedOrder[]): Creation {
  const { given_order, problem, problem_position, body } = row;
  if (problem === null) return { body };
  if (problem === 'mixed_currencies') return { problem };
  const before = orders.slice(0, given_order - 1).reduce((sum, { items }) => sum + items.length, 0);
  return { problem, itemIndex: problem_position - 1 - before };
}
