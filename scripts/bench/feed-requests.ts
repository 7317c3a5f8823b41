import { openAsBlob } from 'node:fs';
import { ask } from './measure';
import { keyHeader } from './servers';

/** Builds the form of a feed. @param fields - `mode`, `format` */
export function feedForm(partnerName: string, content: Blob, fields: Record<string, string> = {}): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries({ partner_name: partnerName, ...fields })) form.set(name, value);
  form.set('file', content, 'feed.csv');
  return form;
}

/** Uploads a feed. @returns the ids of the feed and of its validation job */
export async function uploadFeed(url: string, form: FormData): Promise<{ feedId: string; jobId: string }> {
  const response = await fetch(`${url}/feeds/upload`, { method: 'POST', headers: keyHeader, body: form });
  const body = await response.text();
  if (response.status !== 201) throw new Error(body);
  const { feed_id, validation_job_id } = JSON.parse(body) as { feed_id: string; validation_job_id: string };
  return { feedId: feed_id, jobId: validation_job_id };
}

/** Uploads a feed file. @returns the id of its validation job */
export async function sendFeed(
  url: string,
  partnerName: string,
  file: string,
  fields?: Record<string, string>,
): Promise<string> {
  const content = await openAsBlob(file, { type: 'text/csv' });
  return (await uploadFeed(url, feedForm(partnerName, content, fields))).jobId;
}

/** Runs a job. @throws Error if its counters differ from the expected ones: something else was measured */
export async function runExpecting(
  url: string,
  jobId: string,
  expected: Record<string, number> = {},
  action = 'run',
): Promise<void> {
  const { body } = await ask(`${url}/jobs/${jobId}/${action}`, { method: 'POST', headers: keyHeader });
  const { summary } = JSON.parse(body) as { summary?: Record<string, number> };
  const isExpected = Object.entries(expected).every(([counter, count]) => summary?.[counter] === count);
  if (!summary || !isExpected)
    throw new Error(
      `${action} of ${jobId}: expected ${JSON.stringify(expected)}, got ${body.slice(0, 1_000)}`,
    );
}
