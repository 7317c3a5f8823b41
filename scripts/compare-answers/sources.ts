import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parsed, type Client, type FeedFile } from './client';
import { readJob } from './feeds';

const patienceSeconds = 60;

/** A file server: `/3/feed.csv` is the fourth file. */
export async function serveFiles(files: readonly FeedFile[]): Promise<{ url: string; close(): void }> {
  const server = createServer((request, response) => {
    const file = files[Number(request.url!.split('/')[1])]!;
    response.writeHead(200, { 'content-type': file.mediaType ?? 'text/csv' }).end(file.bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => void server.close(),
  };
}

/** Fetches a file by a source, once without a format and once with a built-in one, and reads the results. */
export async function fetchFile(client: Client, what: string, url: string): Promise<void> {
  for (const format of [null, 'standard']) {
    const path = `/partners/${encodeURIComponent(`Fetched ${what}`)}/sources/${format ?? 'none'}`;
    const definition = { url, format, run_after_fetch: false };
    const headers = { 'content-type': 'application/json' };
    await client.send('PUT', path, { headers, body: JSON.stringify(definition) });
    const fetched = await fetchNow(client, path);
    const feedId = fetched?.feed_id;
    if (typeof feedId !== 'string') continue;
    const { validation_job_id } = parsed(await client.get(`/feeds/${feedId}`));
    await client.send('POST', `/jobs/${String(validation_job_id)}/run`);
    await readJob(client, String(validation_job_id));
  }
}

/** Fetches a source now. @returns the fetch after its first attempt; undefined if the source does not exist */
async function fetchNow(client: Client, path: string): Promise<Record<string, unknown> | undefined> {
  if ((await client.send('POST', `${path}/fetch`)).status !== 202) return undefined;
  const page = `${path}/fetches?limit=1`;
  for (let waited = 0; waited < 10 * patienceSeconds; waited++) {
    const [fetched] = parsed(await client.ask('GET', page)).items as Record<string, unknown>[];
    if (fetched!.attempts !== 0 && fetched!.status !== 'running') {
      await client.get(page);
      return fetched;
    }
    await sleep(100);
  }
  throw new Error(`${path} is not fetched within ${patienceSeconds} s`);
}
