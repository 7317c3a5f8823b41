import { databaseTimeouts } from '../../base/db/transaction';
import { queryRowsWithin, type Database } from '../../base/db/database';
import { raw, sql } from '../../base/db/sql';

/**
 * Tables that this account may analyze, each with its first column, that have at least twice the pages or rows of the last ANALYZE,
 * VACUUM or index build, and at least eight pages or a thousand rows more. A table has the pages of a load before its commit, and
 * its rows count again after it.
 */
const grownSql = sql`
  select format('%I.%I', nspname, relname) as name, (
    select quote_ident(attname) from pg_attribute
    where attrelid = pg_class.oid and attnum > 0 and not attisdropped order by attnum limit 1
  ) as column
  from pg_class join pg_namespace on pg_namespace.oid = relnamespace
  where relkind = 'r' and relpersistence = 'p' and nspname = any (current_schemas(false)) and pg_has_role(relowner, 'usage')
    and (
      pg_relation_size(pg_class.oid) > (2 * relpages + 8) * cast(current_setting('block_size') as bigint)
      or pg_stat_get_live_tuples(pg_class.oid) > 2 * greatest(reltuples, 0) + 1000
    )
  order by pg_relation_size(pg_class.oid)`;

/** Timeout of the query, which waits for the locks of other statements. */
const findMilliseconds = 1_000;

/**
 * Analyzes tables that have grown. Sessions keep the plans of prepared statements and of functions until their tables are analyzed:
 * a plan for a small table reads all of it. One column is enough for that, and takes a fifth of the processor time of all;
 * autovacuum makes their statistics, a minute after the commit.
 * @returns the names of the tables
 */
export async function analyzeGrownTables(db: Database): Promise<string[]> {
  const rows = await queryRowsWithin<{ name: string; column: string }>(db, findMilliseconds, grownSql);
  for (const { name, column } of rows) {
    // Another process, or autovacuum, may be analyzing it.
    await queryRowsWithin(
      db,
      databaseTimeouts.bulkMilliseconds,
      sql`analyze (skip_locked) ${raw(name)} (${raw(column)})`,
    );
  }
  return rows.map(({ name }) => name);
}
