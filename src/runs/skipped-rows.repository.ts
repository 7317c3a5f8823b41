import type { Knex } from 'knex';
import { queryRows } from '../base/db/database';
import { raw, sql, type Sql } from '../base/db/sql';
import { expectFewRows } from '../base/db/transaction';
import type { PartnerScope } from '../base/caller';
import { cancelledReason, repeatedReason } from '../base/errors';
import { revertedBySql } from '../catalog/changes/reverted-by';
import type { RunCounters } from './etl/run-result';

/** Loads to count: that ended from `from` on and before `to`. */
export interface SkippedRowsFilter {
  from: Date;
  to: Date;
  scope: PartnerScope;
  /** Absent: all partners. */
  partnerName?: string;
  /** Maximum number of partners, and of codes of partners. */
  limit: number;
}

/** Figures of the latest loads; both lists have the most rows first. */
export interface SkippedRowsFigures {
  total: RunCounters & { feeds: number };
  partners: { partner_name: string; feeds: number; processed: number; skipped: number; changed: number }[];
  codes: { partner_name: string; code: string; rows: number; feeds: number; last_feed_id: number }[];
}

const counters = [
  'processed',
  'inserted',
  'updated',
  'unchanged',
  'skipped',
  'withdrawn',
  'restored',
] as const;

/** The last loads of feeds, if they completed in the period and are in force. Runs that ended before 1.3.0 may lack counters. */
const loadedSql = ({ from, to, scope, partnerName }: SkippedRowsFilter): Sql => sql`
  select feed_id, partner_name, load.finished_at, issue_counts,
    ${raw(counters.map((counter) => `coalesce(load.${counter}, 0) as ${counter}`).join(', '))}
  from (
    select * from runs
    where kind = 'load' and status = 'completed' and finished_at >= ${from} and finished_at < ${to}
  ) as load join validation_jobs using (job_id) join feeds using (feed_id) join partners on partners.partner_id = feeds.partner_id
  where (cast(${scope} as text) is null or partner_name = ${scope})
    and (cast(${partnerName ?? null} as text) is null or partner_name = ${partnerName ?? null})
    and not exists (
      select from runs as later
      where later.job_id = load.job_id and later.run > load.run and later.kind = 'load'
        and later.status in ('completed', 'failed')
        and coalesce(later.failure_reason, '') not in (${repeatedReason}, ${cancelledReason})
    )
    and (
      -- Most jobs have none.
      not exists (
        select from runs as revert
        where revert.job_id = load.job_id and revert.kind = 'revert' and revert.status = 'completed'
      ) or ${revertedBySql(raw('load.job_id'), raw('load.run'))} is null
    )`;

const listSql = (rows: Sql): Sql => sql`coalesce((select json_agg(listed) from (${rows}) as listed), '[]')`;

/** Counts the rows that the latest loads have skipped, in total, by partner, and by partner and code. */
export async function countSkippedRows(
  trx: Knex.Transaction,
  filter: SkippedRowsFilter,
): Promise<SkippedRowsFigures> {
  await expectFewRows(trx);
  const [figures] = await queryRows<SkippedRowsFigures>(
    trx,
    sql`with loaded as materialized (${loadedSql(filter)})
    select (
        select row_to_json(summed) from (
          select count(*) as feeds, ${raw(counters.map((counter) => `coalesce(sum(${counter}), 0) as ${counter}`).join(', '))}
          from loaded
        ) as summed
      ) as total,
      ${listSql(sql`
        select partner_name, count(*) as feeds, sum(processed) as processed, sum(skipped) as skipped,
          sum(inserted + updated + withdrawn) as changed
        from loaded group by partner_name
        order by skipped desc, partner_name limit ${filter.limit}`)} as partners,
      ${listSql(sql`
        select partner_name, code, sum(count) as rows, count(*) as feeds,
          (array_agg(feed_id order by finished_at desc, feed_id desc))[1] as last_feed_id
        from loaded cross join lateral json_to_recordset(issue_counts) as issue (code text, severity text, count bigint)
        -- The only warning whose rows are skipped.
        where severity = 'error' or code = 'repeated_header'
        group by partner_name, code
        order by rows desc, partner_name, code collate "C" limit ${filter.limit}`)} as codes`,
  );
  return figures!;
}
