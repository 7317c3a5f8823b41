import type { Database } from '../db/database';
import { parseId } from '../shared/ids';
import type { PartnerScope } from '../shared/caller';
import type { JobWatch } from './job-watch';
import { describeValidationJob, getJob, type Job } from './jobs.service';

/**
 * The job as it is, and again after each change, until `isOver` says that nobody wants to know. It can look the same: not
 * all that changes is shown.
 * @throws job_not_found; whatever the database throws
 */
export async function* followJob(
  db: Database,
  watch: JobWatch,
  id: string,
  scope: PartnerScope,
  isOver: () => boolean,
): AsyncGenerator<Job, void> {
  let job: Job | undefined = await getJob(db, id, scope);
  while (job) {
    yield job;
    if (job.version === null || isOver()) return;
    const row = await watch.change(parseId('JV', id)!, job.version, isOver);
    job = row && describeValidationJob(row);
  }
}
