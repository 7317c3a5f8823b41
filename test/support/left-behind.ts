import { readFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { ApiResponse } from './api-client';
import { documentedResponses } from './documented';
import type { TestService } from './service';
import { rawFilePath, stored, storedFeed } from './stored';

/** What an object's key looks like: nothing in it can lead anywhere else. */
const safeKey =
  /^raw\/partners\/[a-z0-9]+(?:-[a-z0-9]+)*\/feeds\/FD\d{5,}\/(?!\.{0,2}$)(?!.*\.\.)[^/\\\p{Cc}]+$/u;

/**
 * Sends an upload and checks what must be true of any: a documented answer; if it was refused, nothing is left of it; if
 * it was accepted, its object lies where its key says, below the store's folder, and has the bytes that were sent.
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
