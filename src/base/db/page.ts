import { raw, sql, type Sql } from './sql';

/**
 * Maximum size of the items of a page, as JSON: a page ends before it, with at least one item. A request of this size takes the
 * process some milliseconds; a hundred items of the largest kinds would be 25 MB.
 */
export const pageBytesMax = 1024 * 1024;

/** A row of a page, with the number of found rows. */
export type Found<Row> = Row & { found: number };

/**
 * Builds a statement that ends a page where its rows become too large: the process does not receive the others.
 * @param rows - the rows of the page `page` in their order, and one more if there is one: `found` counts them all
 * @param rowsMin - number of rows that are returned regardless of their size
 */
export function boundedPageSql(rows: Sql, limit: number, rowsMin = 1): Sql {
  return sql`
  select * from (
    select page.*, count(*) over () as found, row_number() over in_order as place,
      sum(octet_length(cast(row_to_json(page) as text))) over in_order as bytes
    from (${rows}) as page
    window in_order as (rows unbounded preceding)
  ) as measured
  where place <= ${raw(limit)} and (place <= ${raw(rowsMin)} or bytes <= ${raw(pageBytesMax)})`;
}
