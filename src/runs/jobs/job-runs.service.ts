import type { Database } from '../../base/db/database';
import { parseId } from '../../base/ids';
import type { PartnerScope } from '../../base/caller';
import { toPage, type Page } from '../../base/pagination';
import { listRuns, type RunRow } from './job-runs.repository';
import { getJob, parsePosition } from './jobs.service';

/** Greater than the number of any run. */
const noRun = 2 ** 31 - 1;

/**
 * Lists the runs of a job, newest first; none of a submission job.
 * @param page - `limit` runs after `cursor`, the `nextCursor` of the previous page
 * @throws job_not_found, invalid_cursor
 */
export async function listJobRuns(
  db: Database,
  id: string,
  scope: PartnerScope,
  page: { limit: number; cursor?: string },
): Promise<Page<RunRow>> {
  const beforeRun = parsePosition(page.cursor) || noRun;
  await getJob(db, id, scope);
  const jobId = parseId('JV', id);
  if (jobId === undefined) return { items: [] };
  const rows = await listRuns(db, jobId, scope, { beforeRun, limit: page.limit });
  return toPage(rows, page.limit, ({ run }) => String(run));
}
