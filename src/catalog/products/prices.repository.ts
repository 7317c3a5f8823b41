import { queryRows, type Database } from '../../base/db/database';
import { productsFor } from '../../base/db/layout/product-layout';
import { raw, sql } from '../../base/db/sql';
import { formatMicros, microsSql, type Micros } from './point-in-time';
import { pendingRunId, readOnce, type ProductKey } from './versions.repository';

/** A time with one price, or with none. `price` is a decimal text with at most four decimals. */
export interface PricePeriod {
  price: string | null;
  currency: string | null;
  isWithdrawn: boolean;
  /** Inclusive. */
  from: Micros;
  /** Exclusive; null for the period that has not ended. */
  to: Micros | null;
}

/** The window to read: `days` before the current price, or before `now`. */
interface PriceWindow {
  days: number;
  now: Micros;
  /** Maximum number of periods to read, the newest ones. */
  newest: number;
}

interface PeriodRow extends PricePeriod {
  is_twice: boolean;
}

/** The price of a version: null for a withdrawn product; no currency without a price. */
const state = `
  case
    when withdrawn_at is not null then array[null, null, 'true']
    when price is null then array[null, null, 'false']
    else array[cast(trim_scale(price) as text), currency, 'false']
  end as state`;

const timeOf = (run: string) => raw(`(select effective_at from catalog_versions where run_id = ${run})`);

/**
 * Reads the periods of a product's price that touch a window, oldest first. For a product with very many, these are the newest ones,
 * and before them the one with the lowest price in the current currency, and the oldest one. Reads only versions of the window,
 * and earlier ones with the price that was in force at its start.
 */
export async function findPrices(
  db: Database,
  product: ProductKey,
  priceWindow: PriceWindow,
): Promise<PricePeriod[]> {
  const rows = await readOnce(
    db,
    () => readPeriods(db, product, priceWindow),
    ([first]) => first !== undefined && first.is_twice,
  );
  return rows.map(({ is_twice: _, ...period }) => period);
}

async function readPeriods(
  db: Database,
  { partnerId, productId }: ProductKey,
  { days, now, newest }: PriceWindow,
): Promise<PeriodRow[]> {
  const isProduct = sql`(partner_id, product_id) = (${partnerId}, ${productId})`;
  const products = await productsFor(db, partnerId, sql`product_id = ${productId}`);
  const pending = raw(pendingRunId);
  // Ranges of the primary key: for a condition on a column, the planner may read the versions of all partners by another index.
  const place = raw('(partner_id, product_id, until_run_id)');
  const ended = sql`
    select partner_id, product_id, until_run_id, coalesce(run_id, 0) as run_id, created_at, ${raw(state)}
    from product_versions
    where ${place} >= (${partnerId}, ${productId}, 0) and ${place} < (${partnerId}, ${productId}, ${pending})`;
  const newestFirst = raw('order by partner_id desc, product_id desc, until_run_id desc limit 1');
  const statement = sql`
    with in_force as materialized (
      select coalesce(run_id, 0) as run_id, created_at, ${raw(state)}
      from ${products.as('current')} where ${isProduct} and not exists (
        select from product_versions where ${isProduct} and until_run_id = ${pending}
      )
      union all
      select coalesce(run_id, 0), created_at, ${raw(state)}
      from product_versions where ${isProduct} and until_run_id = ${pending}
    ), begin as materialized (
      select case when exists (select from in_force where state[1] is not null) then (
        select ${timeOf('until_run_id')} from (${ended}) as ended
        where state is distinct from (select state from in_force) ${newestFirst}
      ) else cast(${formatMicros(now)} as timestamptz) end - ${days} * interval '24 hours' as at
    ), before as materialized (
      select until_run_id from (${ended}) as ended
      where ${timeOf('until_run_id')} <= (select at from begin) ${newestFirst}
    ), at_begin as materialized (
      select state from (
        (
          select 1 as rank, state from (${ended}) as ended where until_run_id > (select until_run_id from before)
          order by partner_id, product_id, until_run_id limit 1
        )
        union all select 2, state from in_force
      ) as either
      order by rank limit 1
    ), version as materialized (
      select until_run_id, run_id, created_at, state from (${ended}) as ended where ${place} > (${partnerId}, ${productId}, coalesce((
        select until_run_id from (${ended}) as ended
        where until_run_id <= (select until_run_id from before) and state is distinct from (select state from at_begin)
        ${newestFirst}
      ), 0))
      union all select null, * from in_force
    ), compared as (
      select *, max(until_run_id) over () as last_run_id, state is distinct from lag(state) over (order by run_id)
        or lag(run_id) over (order by run_id) is null as is_change
      from version
    ), period as (
      select *, row_number() over (order by run_id desc) as place, lead(run_id) over (order by run_id) as next_run_id
      from compared where is_change
    ), ranked as (
      select *, lag(place) over (order by place desc) is null as is_oldest,
        row_number() over (partition by place = 1, state[2] order by cast(state[1] as numeric) nulls last) as rank
      from period
    ), shown as (
      select * from ranked
      where place <= ${newest} or is_oldest
        or rank = 1 and state[2] is not distinct from (select state[2] from in_force)
    )
    select state[1] as price, state[2] as currency, cast(state[3] as boolean) as "isWithdrawn",
      ${microsSql('valid_from')} as "from",
      ${microsSql('valid_to')} as "to",
      exists (select from in_force where run_id = (select run_id from (${ended}) as ended ${newestFirst})) as is_twice
    from shown
    cross join lateral (
      select greatest(${timeOf('shown.run_id')}, case when shown.run_id = 0 then shown.created_at end) as valid_from
    ) as beginning
    cross join lateral (
      select case
        when place > 1 then ${timeOf('next_run_id')}
        when not exists (select from in_force) then ${timeOf('last_run_id')}
      end as valid_to
    ) as ending
    order by run_id`;
  return queryRows<PeriodRow>(db, statement);
}
