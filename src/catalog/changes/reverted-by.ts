import { raw, sql, type Sql } from '../../base/db/sql';

/**
 * Selects the number of the run's revert that is in force, as a scalar; null if there is none. Of several completed reverts of
 * a run, all but the last one were reverted: the last one is in force unless its own last revert is.
 */
export const revertedBySql = (jobId: Sql, run: Sql): Sql => sql`(
  with recursive chain as (
    select max(run) as run from runs as revert
    where revert.job_id = ${jobId} and kind = 'revert' and revert.status = 'completed' and reverts_run = ${run}
    union all
    select (
      select max(run) from runs as revert
      where revert.job_id = ${jobId} and kind = 'revert' and revert.status = 'completed' and reverts_run = chain.run
    )
    from chain where run is not null
  )
  select case when count(run) % 2 = 1 then min(run) end from chain
)`;

/** The same for the last load of a row of `validation_jobs`; null unless that is completed. */
export const jobRevertedBySql = sql`
  case when validation_jobs.status = 'completed' then ${revertedBySql(
    raw('validation_jobs.job_id'),
    raw(`(
      select max(run) from runs as loaded
      where loaded.job_id = validation_jobs.job_id and kind = 'load' and loaded.status = 'completed'
    )`),
  )} end as reverted_by`;
