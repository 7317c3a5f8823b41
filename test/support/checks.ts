import { issueBody } from '../../src/feed-format/rows/issue-body';
import { checkFeed, type CheckedUpload } from '../../src/feed-format/check/check-feed';
import { chunksOf } from './read-by-format';
import type { TestService } from './service';

/** A file as it is sent, with the options of its upload. */
export interface SentFile extends Omit<CheckedUpload, 'fileName' | 'maxSkippedPercent'> {
  bytes: Buffer;
  fileName?: string;
  maxSkippedPercent?: number | null;
}

type Facts = Record<string, unknown>;

/** What an upload, its first run and `GET /jobs/{job_id}/issues` report, by a new partner. */
export async function loadedFacts(service: TestService, partnerName: string, file: SentFile): Promise<Facts> {
  const { bytes: csv, fileName, mode, format, maxSkippedPercent } = file;
  const { status, body: receipt } = await service.api.upload({
    csv,
    partnerName,
    fileName,
    fields: {
      mode,
      ...(format && { format_definition: JSON.stringify(format.definition) }),
      ...(typeof maxSkippedPercent === 'number' && { max_skipped_percent: String(maxSkippedPercent) }),
    },
  });
  if (status !== 201) {
    const [first] = Array.isArray(receipt.detail) ? receipt.detail : [];
    return { refusal: first?.msg ?? receipt.detail };
  }
  const jobId = receipt.validation_job_id as string;
  const { body: job } = await service.api.post(`/jobs/${jobId}/run`);
  const { processed, inserted, skipped } = job.summary;
  const isFailed = job.status === 'failed';
  return {
    runFailure: isFailed
      ? job.message.replace(/^ETL processing failed: | Products processed: .*/g, '')
      : null,
    counts: isFailed ? [skipped] : [processed, inserted, skipped],
    issueCounts: job.issue_counts,
    issues: await issuesOf(service, jobId),
  };
}

/** The same from a check without a service, in chunks of these sizes. */
export async function checkedFacts(file: SentFile, ...chunkSizes: number[]): Promise<Facts> {
  const { bytes, fileName = 'feed.csv', maxSkippedPercent = null } = file;
  async function* content() {
    // Asynchronous, as a file is.
    yield* await Promise.resolve(chunksOf(bytes, ...chunkSizes));
  }
  const check = await checkFeed(content(), { ...file, fileName, maxSkippedPercent });
  const { refusal, runFailure, rows, loadable, skipped, issueCounts } = check;
  if (refusal) return { refusal: refusal.data.shapeErrors?.[0]?.msg ?? refusal.message };
  return {
    runFailure,
    counts: runFailure === null ? [rows, loadable, skipped] : [skipped],
    issueCounts,
    issues: check.issues.map(issueBody),
  };
}

async function issuesOf({ api }: TestService, jobId: string): Promise<unknown[]> {
  const issues: unknown[] = [];
  for (let cursor = ''; ;) {
    const { body } = await api.get(`/jobs/${jobId}/issues?limit=1000${cursor && `&cursor=${cursor}`}`);
    issues.push(...(body.items as unknown[]));
    if (body.next_cursor === undefined) return issues;
    cursor = body.next_cursor as string;
  }
}
