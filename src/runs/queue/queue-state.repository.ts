import { queryRows, type Database } from '../../base/db/database';
import { sql } from '../../base/db/sql';

export interface PartnerQueueRow {
  partner_name: string;
  waiting: number;
  running: number;
  /** Request time of the oldest waiting run; null when none waits. */
  oldest_requested_at: Date | null;
}

/** The totals of all partners, and the rows of some. */
export interface QueueRows {
  total: Omit<PartnerQueueRow, 'partner_name'>;
  partners: PartnerQueueRow[];
}

/** The queue. A run without a request comes from a process of release 1.2.0, which bypasses the queue. */
const queueSql = sql`
  select partner_id, status, requested_at from runs
  where status in ('queued', 'running') and requested_at is not null`;

/**
 * Counts the runs in the queue.
 * @param page - at most `limit` partners with runs, by name, after the name `after`
 */
export async function countQueue(
  db: Database,
  { after, limit }: { after?: string; limit: number },
): Promise<QueueRows> {
  const [total, ...partners] = await queryRows<
    Omit<PartnerQueueRow, 'partner_name'> & { partner_name: string | null }
  >(
    db,
    // The first row contains the totals of all partners.
    sql`select partner_name, cast(count(*) filter (where status = 'queued') as integer) as waiting,
      cast(count(*) filter (where status = 'running') as integer) as running,
      min(requested_at) filter (where status = 'queued') as oldest_requested_at
    from (${queueSql}) as entry join partners using (partner_id)
    group by grouping sets ((), (partner_name))
    having grouping(partner_name) = 1 or cast(${after ?? null} as text) is null or partner_name > ${after ?? null}
    order by grouping(partner_name) desc, partner_name
    limit ${limit + 1}`,
  );
  return { total: total!, partners: partners as PartnerQueueRow[] };
}

/** Numbers of waiting runs and of runs in progress. */
interface QueueMeasure {
  runs: number;
  /** Age of the oldest waiting run; 0 when none waits. */
  oldestSeconds: number;
  running: number;
}

export async function measureQueue(db: Database): Promise<QueueMeasure> {
  const [measure] = await queryRows<QueueMeasure>(
    db,
    sql`select cast(count(*) filter (where status = 'queued') as integer) as runs,
      cast(greatest(extract(epoch from now() - min(requested_at) filter (where status = 'queued')), 0) as double precision)
        as "oldestSeconds",
      cast(count(*) filter (where status = 'running') as integer) as running
    from (${queueSql}) as entry`,
  );
  return measure!;
}
