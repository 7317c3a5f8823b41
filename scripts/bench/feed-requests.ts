import { openAsBlob } from 'node:fs';
import { ask } from './measure';

/** A service and a key that it accepts. */
export interface FeedTarget {
  url: string;
  apiKey: string;
}

/** Uploads a feed file. @returns the id of its validation job */
export async function sendFeed(
  target: FeedTarget,
  partnerName: string,
  file: string,
  mode?: string,
): Promise<string> {
  const form = new FormData();
  form.set('partner_name', partnerName);
  if (mode !== undefined) form.set('mode', mode);
  form.set('file', await openAsBlob(file, { type: 'text/csv' }), 'feed.csv');
  const headers = { 'x-api-key': target.apiKey };
  const response = await fetch(`${target.url}/feeds/upload`, { method: 'POST', headers, body: form });
  const body = await response.text();
  if (response.status !== 201) throw new Error(body);
  return (JSON.parse(body) as { validation_job_id: string }).validation_job_id;
}

/** Runs a job. @throws Error unless its counters are the expected ones: otherwise something else was measured */
export async function runExpecting(
  { url, apiKey }: FeedTarget,
  jobId: string,
  expected: Record<string, number>,
): Promise<void> {
  const { body } = await ask(`${url}/jobs/${jobId}/run`, {
    method: 'POST',
    headers: { 'x-api-key': apiKey },
  });
  const { summary } = JSON.parse(body) as { summary?: Record<string, number> };
  for (const [counter, count] of Object.entries(expected)) {
    if (summary?.[counter] !== count) throw new Error(`run of ${jobId}: got ${body.slice(0, 1_000)}`);
  }
}
