import { applyAnswers } from '../../src/feed-format/detect/apply-answers';
import { parsed, type Client, type FeedFile, type Part } from './client';
import type { FileToTry } from './made-up-files';
import type { Answer } from './transcript';

/** Options of a form that determine how a file is read. */
interface Reading {
  name: string;
  fields: [name: string, value: string][];
}

const named = (format: string): Reading => ({ name: format, fields: [['format', format]] });
const defined = (name: string, definition: object): Reading => ({
  name,
  fields: [
    ['format', 'of-the-form'],
    ['format_definition', JSON.stringify(definition)],
  ],
});

const withoutFormat: Reading = { name: 'no format', fields: [] };
const builtIn = ['standard', 'shopify', 'woocommerce', 'google-merchant', 'excel-eu'].map(named);

/** Inspects, uploads and runs a file with each set of options, each for a new partner. */
export async function tryFile(client: Client, file: FileToTry): Promise<void> {
  const inspection = await inspect(client, file, withoutFormat, `${file.what} inspected`);
  const { definition } = file;
  const { suggested_format, draft_format, doubts = [] } = inspection;
  const suggested = suggested_format ?? (draft_format && applyFirstChoices({ draft_format, doubts }));
  const readings = [
    withoutFormat,
    ...builtIn,
    ...(suggested ? [defined('suggested', suggested)] : []),
    ...(definition ? [defined('defined', definition)] : []),
  ];
  for (const reading of readings) {
    const partner = `${file.what} with ${reading.name}`;
    await inspect(client, file, reading, partner);
    await tryReading(client, file, reading, partner);
  }
}

type Inspection = Partial<Parameters<typeof applyAnswers>[0]> & { suggested_format?: object | null };

async function inspect(
  client: Client,
  file: FeedFile,
  { fields }: Reading,
  partner: string,
): Promise<Inspection> {
  return parsed(await client.sendForm('/feeds/inspect', [['partner_name', partner], ...fields, file]));
}

/** Answers each question by its first choice; a question without choices asks for a currency. */
function applyFirstChoices(inspection: Parameters<typeof applyAnswers>[0]): object | null {
  const answers = inspection.doubts.map(({ about }) => [about, { choice: 0, value: 'EUR' }] as const);
  return applyAnswers(inspection, new Map(answers));
}

/** Uploads and runs a file in each mode, and reads all results. */
async function tryReading(client: Client, file: FeedFile, reading: Reading, partner: string): Promise<void> {
  const { fields } = reading;
  const before: Part[] = [['partner_name', partner], ...fields, file];
  const jobId = await load(client, before);
  const format = fields.find(([name]) => name === 'format')?.[1];
  if (jobId !== undefined) {
    await readCatalog(client, partner, format);
    const rejects = await readJob(client, jobId);
    // Nothing has changed.
    await client.send('POST', `/jobs/${jobId}/run`);
    await load(client, [...fields, file, ['partner_name', partner]]);
    for (const mode of rejects ? ['upsert', 'replace', 'update'] : [])
      await load(client, [
        ['partner_name', partner],
        ...fields,
        ['mode', mode],
        { name: 'rejects.csv', bytes: rejects! },
      ]);
    await readCatalog(client, partner, format);
  }
  const replacing =
    jobId && (await load(client, [['partner_name', partner], ...fields, ['mode', 'replace'], file]));
  if (replacing) await readJob(client, replacing);
  const updating = await load(client, [['mode', 'update'], ...fields, file, ['partner_name', partner]]);
  if (updating !== undefined) await readJob(client, updating);
}

/** Uploads a file, plans its run, and runs it. @returns the id of its job; undefined if the upload is rejected */
async function load(client: Client, parts: readonly Part[]): Promise<string | undefined> {
  const jobId = parsed(await client.sendForm('/feeds/upload', parts)).validation_job_id as string | undefined;
  if (jobId === undefined) return undefined;
  await client.send('POST', `/jobs/${jobId}/plan?limit=20`);
  await client.send('POST', `/jobs/${jobId}/run`);
  return jobId;
}

/** Reads the results of a run. @returns its rejects, if it has any */
export async function readJob(client: Client, jobId: string): Promise<Buffer | undefined> {
  const job = parsed(await client.get(`/jobs/${jobId}`));
  await client.getPages(`/jobs/${jobId}/issues?limit=100`);
  const rejects = await client.get(`/jobs/${jobId}/rejects.csv`);
  const feedId = String(job.feed_id);
  await client.get(`/feeds/${feedId}`);
  await client.get(`/feeds/${feedId}/raw`, { range: 'bytes=0-2000' });
  await client.get(`/feeds/${feedId}/raw`);
  return hasRows(rejects, job) ? rejects.body : undefined;
}

function hasRows({ status, body }: Answer, { summary }: Record<string, unknown>): boolean {
  return status === 200 && body.length > 0 && ((summary as Record<string, number> | null)?.skipped ?? 0) > 0;
}

/** Reads a partner's products, their records (some), and the products as files. */
async function readCatalog(client: Client, partner: string, format: string | undefined): Promise<void> {
  const name = encodeURIComponent(partner);
  const products = await client.getPages(`/products?partner_name=${name}&limit=100`);
  const chosen = new Set([0, Math.floor(products.length / 2), products.length - 1]);
  for (const at of chosen) {
    const id = products[at]?.product_id;
    if (id === undefined) continue;
    await client.get(`/products/${id}`);
    await client.get(`/products/${id}/source`);
  }
  for (const written of new Set([undefined, format, 'excel-eu'])) {
    const query = written === undefined ? '' : `?format=${written}`;
    await client.get(`/partners/${name}/products.csv${query}`);
    await client.get(`/feeds/template.csv?partner_name=${name}${query.replace('?', '&')}`);
  }
}
