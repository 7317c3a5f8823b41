import { createHash } from 'node:crypto';
import { prune } from '../../src/operation/retention/prune';
import type { TestService } from './service';

const digestOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

/** The expected source for a record of a file. */
export function sourceIn(feedId: string, file: string | Buffer, record: string) {
  const bytes = Buffer.from(record);
  return {
    feed_id: feedId,
    file_sha256: digestOf(Buffer.from(file)),
    record_sha256: digestOf(bytes),
    record_base64: bytes.toString('base64'),
    record_text: record,
    encoding: 'utf-8',
  };
}

/** The same without the file. `digest`: whether the digest of the record was kept. */
export function sourceWithoutFile(
  feedId: string,
  file: string | Buffer,
  record: string,
  digest: 'kept' | 'unknown',
) {
  const source = sourceIn(feedId, file, record);
  return {
    ...source,
    record_sha256: digest === 'kept' ? source.record_sha256 : null,
    record_base64: null,
    record_text: null,
  };
}

/** Shifts all feeds and runs into the past, and prunes the raw files. @returns the number of removed files */
export async function pruneFiles({ db, objectStore }: TestService): Promise<number> {
  await db.raw(`update feeds set uploaded_at = uploaded_at - interval '31 days'`);
  await db.raw(`update validation_jobs set finished_at = finished_at - interval '31 days'`);
  const rules = { rowIssueDays: 36_500, rawFileDays: 30, historyDays: 36_500 };
  const { files } = await prune({ db, objectStore, rules });
  return files.files;
}
