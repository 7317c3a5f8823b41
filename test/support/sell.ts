import type { Knex } from 'knex';

/** An order: whose, when (minutes from the end of a year in UTC, absent: now), and its lines. */
export interface Sale {
  partner: string;
  currency: string;
  minutes: number | null;
  lines: { price: string; quantity: number }[];
}

export const aSale: Sale = {
  partner: 'Acme',
  currency: 'EUR',
  minutes: null,
  lines: [{ price: '1.005', quantity: 3 }],
};

/** Creates an order, past the service. @returns its number */
export async function sell(
  connection: Knex,
  { partner, currency, minutes, lines }: Sale = aSale,
): Promise<number> {
  const { rows } = await connection.raw<{ rows: [{ order_id: number }] }>(
    `with line as (
       select * from unnest(cast(:prices as numeric[]), cast(:quantities as integer[])) as line (price, quantity)
     ), sold as (
       insert into orders (partner_name, currency, total_amount, created_at)
       select :partner, :currency, sum(price * quantity),
         coalesce(timestamptz '2026-01-01 00:00Z' + cast(:minutes as integer) * interval '1 minute', now()) from line
       returning order_id
     ), item as (
       insert into order_items (order_id, product_id, sku, product_name, quantity, unit_price, line_total)
       select order_id, 1, 'TENT-2', 'Tent', quantity, price, price * quantity from sold cross join line
     )
     select order_id from sold`,
    {
      partner,
      currency,
      minutes,
      prices: lines.map(({ price }) => price),
      quantities: lines.map(({ quantity }) => quantity),
    } as never,
  );
  return rows[0].order_id;
}
