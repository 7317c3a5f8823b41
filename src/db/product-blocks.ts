import { queryRows, type Database } from './database';

/*
 * Where `products` is distributed, numbers of products are drawn in blocks of one partner. The local table `product_blocks` leads
 * from a number to its partner, so that a statement reads one shard. Products from before the distribution have a row for each
 * run of numbers of one partner.
 */

/** Numbers of a block. */
export const blockNumbers = 1_024;

/**
 * Finds the partner that a product number belongs to, whether or not there is such a product.
 * @returns in the order of the numbers; undefined where no block contains the number
 */
export async function findPartnersOfProducts(
  db: Database,
  productIds: readonly number[],
): Promise<(number | undefined)[]> {
  const rows = await queryRows<{ partner_id: number | null }>(
    db,
    `select partner_id
     from unnest(cast(? as bigint[])) with ordinality as asked (asked_id, place) left join lateral (
       select * from product_blocks where first_id <= asked_id order by first_id desc limit 1
     ) as block on last_id >= asked_id
     order by place`,
    [productIds as number[]],
    true,
  );
  return rows.map(({ partner_id }) => partner_id ?? undefined);
}
