import { queryRows, type Database } from '../../base/db/database';
import { sql } from '../../base/db/sql';
import type { Encoding } from '../../feed-format/format-definition';
import type { LoadMode } from '../../feed-format/load-options';
import type { PartnerScope } from '../../base/caller';

/** Minimum size of a large feed. */
export const largeFeedBytes = 16 * 1024 * 1024;

/** Maximum attempts of a run without a waiting client, if its process dies each time. */
export const queuedRunAttempts = 5;

/** Permissions in the request of a load. */
export interface RunPermissions {
  /** Maximum number of withdrawn products; absent: the usual limit. */
  maxWithdrawn?: number;
  /** Maximum percentage of withdrawn products; absent: the usual limit. */
  maxWithdrawnPercent?: number;
  allowOlder?: boolean;
}

export interface RunRequest extends RunPermissions {
  /** The run to undo; absent: a load. */
  reverts?: { run: number; skipsConflicts: boolean };
  /** Result of `requesterName`; absent: unknown. */
  requestedBy?: string;
  /** The `x-request-id` of the response, for the log of the run; absent: unknown. */
  requestId?: string;
}

/** Job to be run. */
export interface RunTarget extends RunRequest {
  jobId: number;
  feedId: number;
  partnerId: number;
  isLarge: boolean;
  mode: LoadMode;
}

interface FoundTarget extends RunTarget {
  rawFileRemovedAt: Date | null;
  /** Encoding of the feed's format; null without one. */
  encoding: Encoding | null;
}

/** Finds a validation job to run; null when there is none in the scope. */
export async function findRunTarget(
  db: Database,
  jobId: number,
  scope: PartnerScope,
): Promise<FoundTarget | null> {
  const [target] = await queryRows<FoundTarget>(
    db,
    sql`select job_id as "jobId", feed_id as "feedId", partner_id as "partnerId",
      size_bytes >= ${largeFeedBytes} as "isLarge", mode, raw_file_removed_at as "rawFileRemovedAt",
      case when format_definition is not null then coalesce(format_definition ->> 'encoding', 'utf-8') end as encoding
    from (select job_id, feed_id from validation_jobs where job_id = ${jobId}) as job
    join feeds using (feed_id) join partners using (partner_id)
    where cast(${scope} as text) is null or partner_name = ${scope}`,
  );
  return target ?? null;
}
