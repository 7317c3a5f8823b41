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

/** Measures the length of the queue, and the age of the oldest run; 0 when it is empty. */
export async function measureQueue(db: Database): Promise<{ runs: number; oldestSeconds: number }> {
  const { rows } = await db.raw<{ rows: [{ runs: number; oldestSeconds: number }] }>(
    `select cast(count(*) as integer) as runs,
       cast(greatest(extract(epoch from now() - min(run_requested_at)), 0) as double precision) as "oldestSeconds"
     from (
       select run_requested_at from validation_jobs where run_requested_at is not null and status = 'queued'
       union all
       select requested_at from runs where kind = 'revert' and status = 'queued'
     ) as queued`,
  );
  return rows[0];
}
