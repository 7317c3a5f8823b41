import type { Knex } from 'knex';
import { sql } from '../../base/db/sql';
import { rejectStaged } from './reject-staged';
import type { RunStats } from './run-stats';
import { readColumn, type StagedFeed } from './staging';

/*
 * The last valid row of a sku wins: it is loaded, and the valid rows before it are rejected as `duplicate_sku`.
 *
 * The rule exists in SQL for staged rows (runs, plans and rejects) and in memory for inspections and checks, which have no database:
 * `LastRows`.
 * Two shortcuts of a run have no rule of their own: digests stage all rows of a repeated sku (`RecordDigests.markStaged`),
 * and a first load with a repeated sku is rolled back and staged (`RepeatedSku`).
 */

/** Superseded rows, and the last row of each repeated sku. Without repeated skus, this aggregate is the only cost. */
const superseded = {
  expression: sql`winner as (select sku, max(line) as line from feed_rows group by sku having count(*) > 1)`,
  table: sql`winner`,
  condition: sql`feed_rows.sku = winner.sku and feed_rows.line < winner.line`,
};

/** Rejects the superseded rows among the staged ones. Call it once per staging. */
export async function rejectSupersededRows(
  trx: Knex.Transaction,
  feed: StagedFeed,
  stats: RunStats,
): Promise<void> {
  stats.superseded = await stats.timed('duplicates', () =>
    rejectStaged(trx, feed, stats, 'duplicate_sku', superseded),
  );
}

/** Lists the numbers of the superseded rows among the staged ones, unordered, in batches. */
export function listSupersededRows(trx: Knex.Transaction): AsyncGenerator<number[]> {
  const { expression, table, condition } = superseded;
  return readColumn(
    trx,
    sql`with ${expression} select row_number from feed_rows join ${table} on ${condition}`,
  );
}
