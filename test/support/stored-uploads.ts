import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import type { ApiResponse } from './api-client';
import { documentedResponses } from './contract';
import type { TestService } from './service';

/** Everything that uploads have stored: the rows of their tables, and every file of the object store. */
export interface Stored {
  partners: number[];
  feeds: number[];
  submissionJobs: number[];
  validationJobs: number[];
  /** Relative to the data folder, including temporary files and staged objects. */
  files: string[];
}

export async function stored({ db, dataDir }: TestService): Promise<Stored> {
  return {
    partners: await db('partners').orderBy('partner_id').pluck('partner_id'),
    feeds: await db('feeds').orderBy('feed_id').pluck('feed_id'),
    submissionJobs: await db('submission_jobs').orderBy('job_id').pluck('job_id'),
    validationJobs: await db('validation_jobs').orderBy('job_id').pluck('job_id'),
    files: await filesBelow(dataDir),
  };
}

export async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}

/** Sends an upload that must be rejected: checks the exact response, and that nothing was stored. */
export async function expectRefusal(
  service: TestService,
  send: () => Promise<ApiResponse>,
  status: number,
  body: unknown,
): Promise<ApiResponse> {
  const before = await stored(service);
  const response = await send();
  expect({ status: response.status, body: response.body as unknown }).toEqual({ status, body });
  expect(await stored(service)).toEqual(before);
  return response;
}

/** The row of a feed in the database. */
export interface StoredFeed {
  feed_id: number;
  partner_id: number;
  filename: string;
  content_type: string;
  status: string;
  uploaded_at: Date;
  raw_file_bucket: string;
  raw_file_object_key: string;
  sha256: Buffer;
  size_bytes: number;
  raw_file_removed_at: Date | null;
}

export async function storedFeed({ db }: Pick<TestService, 'db'>, feedId: string): Promise<StoredFeed> {
  const row = await db<StoredFeed>('feeds')
    .where('feed_id', Number(feedId.slice(2)))
    .first();
  if (!row) throw new Error(`There is no row of ${feedId}.`);
  return row;
}

/** The path of a feed's raw file in the local object store. */
export async function rawFilePath(
  service: Pick<TestService, 'db' | 'dataDir'>,
  feedId: string,
): Promise<string> {
  const { raw_file_bucket, raw_file_object_key } = await storedFeed(service, feedId);
  return join(service.dataDir, 'objects', raw_file_bucket, raw_file_object_key);
}

/** Replaces a feed's raw file, with size and digest, as if it had been uploaded. */
export async function replaceRawFile(
  service: Pick<TestService, 'db' | 'dataDir'>,
  feedId: string,
  content: string | Buffer,
): Promise<void> {
  const bytes = Buffer.from(content);
  await writeFile(await rawFilePath(service, feedId), bytes);
  await service
    .db<StoredFeed>('feeds')
    .where('feed_id', Number(feedId.slice(2)))
    .update({ size_bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest() });
}

/** The pattern of an object's key, which cannot leave the store's folder. */
const safeKey =
  /^raw\/partners\/[a-z0-9]+(?:-[a-z0-9]+)*\/feeds\/FD\d{5,}\/(?!\.{0,2}$)(?!.*\.\.)[^/\\\p{Cc}]+$/u;

/**
 * Sends an upload and checks the guarantees of all uploads. The response is documented; a rejected upload leaves nothing; the
 * object of an accepted one is at its key, below the store's folder, and has the sent bytes.
 * @param content - the bytes of the file, if it is accepted
 */
export async function sendAnyUpload(
  service: TestService,
  send: () => Promise<Pick<ApiResponse, 'status' | 'body'>>,
  content: Uint8Array,
): Promise<Pick<ApiResponse, 'status' | 'body'>> {
  const before = await stored(service);
  const response = await send();
  const after = await stored(service);

  const statuses = documentedResponses.filter(({ operationId }) => operationId === 'uploadFeed');
  expect(statuses.map(({ status }) => status).filter((status) => status < 500)).toContain(response.status);
  if (response.status !== 201) {
    expect(after).toEqual(before);
    return response;
  }
  expect(after.files).toHaveLength(before.files.length + 1);
  expect(after.feeds).toHaveLength(before.feeds.length + 1);
  const { raw_file_object_key: key } = await storedFeed(service, response.body.feed_id as string);
  expect(key).toMatch(safeKey);
  const path = await rawFilePath(service, response.body.feed_id as string);
  expect(path.startsWith(join(service.dataDir, 'objects') + sep)).toBe(true);
  expect((await readFile(path)).equals(content)).toBe(true);
  return response;
}
