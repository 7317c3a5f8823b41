import type { Database } from '../../src/base/db/database';

/** End of a version whose product was changed manually since the last change of the catalog. */
const pending = '9223372036854775807';

const isKnown = (runId: string) =>
  `exists (select from catalog_versions where catalog_versions.run_id = ${runId})`;

/** In joins, distributed products must be read first (`make test-citus DISTRIBUTED=1`). */
export const withProducts = 'with products as materialized (select * from products)';

/** Statements that find violations in the history of products and runs. */
export const historyQuestions = {
  'a version that does not begin where the one before it ends': `
    select partner_id, product_id, run_id, until_run_id, ended_before
    from (
      select *, lag(until_run_id) over (partition by partner_id, product_id order by until_run_id) as ended_before
      from product_versions
    ) as version
    where run_id >= until_run_id or (ended_before is not null and run_id is distinct from ended_before)`,
  'a product that does not begin where its last version ends': `
    select partner_id, product_id, run_id, until_run_id
    from products join (
      select partner_id, product_id, max(until_run_id) as until_run_id from product_versions
      where until_run_id <> ${pending} group by partner_id, product_id
    ) as last using (partner_id, product_id)
    where run_id is distinct from until_run_id`,
  'a pending version of a product that a run has changed since': `
    select partner_id, product_id, products.run_id, version.run_id as version_run_id
    from products join product_versions as version using (partner_id, product_id)
    where until_run_id = ${pending} and products.run_id is distinct from version.run_id`,
  'a product or version of a change that is not known': `
    select product_id, run_id from products where run_id is not null and not ${isKnown('products.run_id')}
    union all
    select product_id, until_run_id from product_versions
    where until_run_id <> ${pending} and not ${isKnown('product_versions.until_run_id')}`,
  'a change that is in force before an earlier one': `
    select run_id, effective_at, effective_before
    from (
      select *, lag(effective_at) over (partition by partner_id order by run_id) as effective_before from catalog_versions
    ) as change
    where effective_at <= effective_before`,
  'a change by no completed run': `
    select run_id, job_id, run, status
    from catalog_versions join partners using (partner_id) left join runs using (job_id, run)
    where job_id is not null and status is distinct from 'completed'`,
  // A manual change may be part of a run's updates, or not. Old versions may have been pruned. A load counts a product
  // as unchanged if it only moves to another collection.
  'a run that has counted other changes than are in history': `
    select catalog_versions.run_id, job_id, run, updated, withdrawn, kept, external, moved
    from catalog_versions
      join partners using (partner_id)
      join runs using (job_id, run)
      left join (
        select version.until_run_id, count(*) as kept, count(*) filter (where version.is_external) as external,
          count(*) filter (
            where not version.is_external and coalesce(later.collection, now.collection) <> version.collection
              and coalesce(later.feed_id, now.feed_id) = version.feed_id
              and coalesce(later.record_offset, now.record_offset) is not distinct from version.record_offset
              and version.withdrawn_at is null
          ) as moved
        from product_versions as version
          left join product_versions as later on (later.partner_id, later.product_id, later.run_id)
            = (version.partner_id, version.product_id, version.until_run_id)
          left join products as now on (now.partner_id, now.product_id, now.run_id)
            = (version.partner_id, version.product_id, version.until_run_id)
        group by version.until_run_id
      ) as version on version.until_run_id = catalog_versions.run_id
    where effective_at > now() - interval '1 day' and updated + withdrawn
      not between coalesce(kept - external - case kind when 'load' then moved else 0 end, 0)
      and coalesce(kept - case kind when 'load' then moved else 0 end, 0)`,
  'a job whose last run is another': `
    select job.job_id, run_count, job.status, runs.status as run_status
    from validation_jobs as job left join runs on (runs.job_id, run) = (
      job.job_id, (
        select max(run) from runs
        where runs.job_id = job.job_id and kind = 'load' and status <> 'cancelled'
          and failure_reason is distinct from 'The run was interrupted.'
      )
    )
    where job.status <> 'queued' and job.started_at is not null and (
      runs.status, runs.failure_reason, runs.processed, runs.inserted, runs.updated, runs.unchanged, runs.skipped,
      runs.withdrawn, runs.restored
    ) is distinct from (
      job.status, job.failure_reason, job.processed, job.inserted, job.updated, job.unchanged, job.skipped,
      coalesce(job.withdrawn, 0), coalesce(job.restored, 0)
    )`,
  'a run that is stuck': `
    select runs.job_id, run, job.status from runs join validation_jobs as job using (job_id)
    where kind = 'load' and runs.status = 'running' and (job.status, run_count) is distinct from ('running', run)`,
  'two reverts of a job at once': `
    select job_id, count(*) from runs where kind = 'revert' and status in ('queued', 'running')
    group by job_id having count(*) > 1`,
};

/** Finds violations in the history of products and runs; empty if there are none. */
export async function findBrokenHistory(db: Database): Promise<string[]> {
  const questions = Object.entries(historyQuestions).map(
    ([what, sql]) => `select '${what}' as what, to_json(found) as broken from (${sql}) as found`,
  );
  const { rows } = await db.raw<{ rows: { what: string; broken: unknown }[] }>(
    `${withProducts} ${questions.join(' union all ')}`,
  );
  return rows.map(({ what, broken }) => `${what}: ${JSON.stringify(broken)}`);
}
