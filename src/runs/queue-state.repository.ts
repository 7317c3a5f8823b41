import type { Database } from '../db/database';
import { revertsSql } from './claims.repository';

/** Runs of a partner in the queue. */
export interface PartnerQueueRow {
  partner_name: string;
  waiting: number;
  running: number;
  /** When the run that waits longest was requested; null when none waits. */
  oldest_requested_at: Date | null;
}

/** The numbers of all partners, and those of some. */
export interface QueueRows {
  total: Omit<PartnerQueueRow, 'partner_name'>;
  partners: PartnerQueueRow[];
}

/**
 * Counts the runs in the queue.
 * @param page - at most `limit` partners that have one, by name, after the name `after`
 */
export async function countQueue(
  db: Database,
  { after, limit }: { after?: string; limit: number },
): Promise<QueueRows> {
  const { rows } = await db.raw<{
    rows: (Omit<PartnerQueueRow, 'partner_name'> & { partner_name: string | null })[];
  }>(
    `with entries as (
       select run_partner_id as partner_id, status, run_requested_at
       from validation_jobs
       where run_requested_at is not null and status in ('queued', 'running')
       union all
       select run_partner_id, status, run_requested_at from (${revertsSql}) as reverts
     )
     select partner_name, cast(count(*) filter (where status = 'queued') as integer) as waiting,
       cast(count(*) filter (where status = 'running') as integer) as running,
       min(run_requested_at) filter (where status = 'queued') as oldest_requested_at
     from entries join partners using (partner_id)
     group by grouping sets ((), (partner_name))
     having grouping(partner_name) = 1 or cast(:after as text) is null or partner_name > :after
     order by grouping(partner_name) desc, partner_name
     limit :limit`,
    // The first row is that of all partners.
    { after: after ?? null, limit: limit + 1 },
  );
  const [total, ...partners] = rows;
  return { total: total!, partners: partners as PartnerQueueRow[] };
}

/** Runs of the queue: those that wait, and those in progress. */
interface QueueMeasure {
  runs: number;
  /** Age of the oldest run that waits; 0 when none waits. */
  oldestSeconds: number;
  running: number;
}

export async function measureQueue(db: Database): Promise<QueueMeasure> {
  const { rows } = await db.raw<{ rows: [QueueMeasure] }>(
    `select cast(count(*) filter (where status = 'queued') as integer) as runs,
       cast(greatest(extract(epoch from now() - min(requested_at) filter (where status = 'queued')), 0) as double precision)
         as "oldestSeconds",
       cast(count(*) filter (where status = 'running') as integer) as running
     from (
       select status, run_requested_at as requested_at from validation_jobs
       where run_requested_at is not null and status in ('queued', 'running')
       union all
       select status, requested_at from runs where kind = 'revert' and status in ('queued', 'running')
     ) as entry`,
  );
  return rows[0];
}
