import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { applyAnswers, type Answers } from '../src/feed-format/detect/apply-answers';
import type { components } from '../generated/openapi';
import { apiKey, keyHeader } from './bench/servers';
import { startServiceProcess } from './service-process';

/*
 * Measures how many records of real files load rightly at the first attempt: inspect, the answers to its questions, upload, run.
 * Usage: tsx scripts/measure-files.ts FOLDER [PART OF A NAME]
 * Each folder in FOLDER has `file.*`, `truth.json` (the mapping by hand: system, language, sku, price, currency) and `truth.csv`, the
 * products that are right: sku, product_name, price, currency, availability; `-` as availability: not compared.
 */

type Inspection = components['schemas']['FeedInspection'];
type Doubt = Inspection['doubts'][number];
type Product = Record<'sku' | 'product_name' | 'price' | 'currency' | 'availability', string>;

/** The parts of `truth.json` that answers need. */
interface Truth {
  system: string;
  language: string;
  sku: { columns: unknown[] };
  price?: { column: unknown; decimal?: string } | null;
  currency?: { constant?: string } | null;
  only_rows_where?: { header: string; values: string[] }[];
}

interface Result {
  name: string;
  language: string;
  system: string;
  wanted: number;
  right: number;
  wrong: number;
  questions: number;
  milliseconds: number;
  outcome: string;
  examples: string[];
}

/** Questions that a person answers before giving up. */
const questionsMax = 2;

const read = (file: string) =>
  parse(readFileSync(file), { columns: true, bom: true }) as unknown as Product[];

async function measureFile(url: string, folder: string, name: string): Promise<Result> {
  const path = join(folder, name);
  const truth = JSON.parse(readFileSync(join(path, 'truth.json'), 'utf8')) as Truth;
  const products = new Map(read(join(path, 'truth.csv')).map((product) => [product.sku, product]));
  const file = readdirSync(path).find((each) => each.startsWith('file.'))!;
  const content = new Blob([readFileSync(join(path, file))]);
  const base = { name, language: truth.language, system: truth.system, wanted: products.size };
  const nothing = { ...base, right: 0, wrong: 0, questions: 0, milliseconds: 0, examples: [] };

  const started = performance.now();
  const inspected = await fetch(`${url}/feeds/inspect`, {
    method: 'POST',
    headers: keyHeader,
    body: formOf(name, content),
  });
  const inspection = (await inspected.json()) as Inspection;
  const milliseconds = performance.now() - started;
  if (!inspected.ok) return { ...nothing, milliseconds, outcome: JSON.stringify(inspection).slice(0, 100) };
  const { doubts, suggested_format: suggested } = inspection;
  const asked = { ...nothing, milliseconds, questions: doubts.length };
  const format = suggested ?? applyAnswers(inspection, answersOf(doubts, truth, products));
  if (!format)
    return {
      ...asked,
      outcome:
        doubts.length > 0
          ? `unanswered: ${JSON.stringify(doubts.map((d) => d.about))}`
          : (inspection.hint?.message ?? 'no sku or no name found'),
    };
  const put = await fetch(`${url}/partners/${name}/formats/found`, {
    method: 'PUT',
    headers: { ...keyHeader, 'content-type': 'application/json' },
    body: JSON.stringify(format),
  });
  if (!put.ok) return { ...asked, outcome: `format refused: ${(await put.text()).slice(0, 100)}` };
  const form = formOf(name, content, 'found');
  const upload = await fetch(`${url}/feeds/upload`, { method: 'POST', headers: keyHeader, body: form });
  const uploaded = (await upload.json()) as { validation_job_id?: string };
  if (!upload.ok) return { ...asked, outcome: JSON.stringify(uploaded).slice(0, 100) };
  const run = await fetch(`${url}/jobs/${uploaded.validation_job_id}/run`, {
    method: 'POST',
    headers: keyHeader,
  });
  const job = (await run.json()) as { status?: string; error?: string };
  const csv = await fetch(`${url}/partners/${name}/products.csv`, { headers: keyHeader });
  const loaded = csv.ok ? (parse(await csv.text(), { columns: true }) as unknown as Product[]) : [];
  const compared = compare(products, loaded);
  const about = doubts.map((doubt) => `${doubt.about} ${doubt.code}`).join(', ');
  return { ...asked, ...compared, outcome: job.status === 'failed' ? 'run failed' : about };
}

function formOf(partnerName: string, content: Blob, format?: string): FormData {
  const form = new FormData();
  form.set('partner_name', partnerName);
  if (format !== undefined) form.set('format', format);
  form.set('file', content, 'file.csv');
  return form;
}

/** Answers as a person who knows the products: by the samples of the choices, then by the mapping. */
function answersOf(doubts: readonly Doubt[], truth: Truth, products: ReadonlyMap<string, Product>): Answers {
  return new Map(
    doubts.map((doubt) => {
      const currency = truth.currency?.constant;
      const scores = doubt.choices.map(({ changes, sample, value_pointer }, index) => {
        if (value_pointer !== null) return currency === undefined ? -Infinity : Infinity;
        const agreed = sample.map((each) => agreementOf(each, products.get(each.sku)));
        return agreed.reduce((sum, each) => sum + each, 0) + mapped(changes, truth) - index / 100;
      });
      const choice = scores.indexOf(Math.max(...scores));
      return [doubt.about, { choice, value: currency ?? '' }];
    }),
  );
}

/** Returns how well a product of a sample agrees with the right one, -1 to 1; a missing price neither agrees nor disagrees. */
function agreementOf(each: Doubt['choices'][number]['sample'][number], product: Product | undefined): number {
  if (!product) return -1;
  const { price, product_name } = each;
  const ofPrice = price === null ? 0 : sameAmount(product.price, price) ? 0.5 : -0.5;
  return ofPrice + (isName(product_name, product) ? 0.5 : -0.5);
}

/** Counts agreements of a choice with the mapping by hand. */
function mapped(changes: Record<string, unknown>, { sku, price, only_rows_where: rows }: Truth): number {
  const text = JSON.stringify(changes);
  const columns = (changes.columns ?? {}) as Record<string, unknown>;
  const names = (source: unknown, header: unknown) =>
    JSON.stringify(source ?? null).includes(
      typeof header === 'number' ? `"position":${header + 1}}` : JSON.stringify(header),
    );
  let score = 0;
  if ('price' in columns) {
    const isRight = price ? names(columns.price, price.column) : columns.price === null;
    score += isRight ? 0.5 : -0.5;
  }
  if (columns.sku) score += sku.columns.every((header) => names(columns.sku, header)) ? 0.5 : -0.5;
  if (changes.decimal_separator) score += changes.decimal_separator === (price?.decimal ?? '.') ? 0.5 : -0.5;
  if (rows) score += rows.every(({ header }) => text.includes(header)) ? 0.5 : 0;
  return score;
}

const sameAmount = (one: string, other: string) =>
  one === other || (one !== '' && other !== '' && Number(one) === Number(other));

/** Tells whether a name is right; the options of a variant may follow it. */
function isName(name: string, { product_name: wanted }: Product): boolean {
  const plain = (text: string) => text.replace(/\s+/gu, ' ').trim();
  return plain(name) === plain(wanted) || plain(name).startsWith(`${plain(wanted)} - `);
}

function compare(products: ReadonlyMap<string, Product>, loaded: readonly Product[]) {
  let right = 0;
  let wrong = 0;
  const examples: string[] = [];
  for (const each of loaded) {
    const product = products.get(each.sku);
    const faults = product ? faultsOf(each, product) : ['unknown sku'];
    if (faults.length > 0) wrong++;
    if (faults.length > 0 && examples.length < 3) examples.push(`${each.sku}: ${faults.join(', ')}`);
    const isComplete =
      product && sameAmount(product.price, each.price) && (product.currency === '' || each.currency !== '');
    if (faults.length === 0 && isComplete) right++;
    else if (faults.length === 0 && examples.length < 3) examples.push(`${each.sku}: incomplete`);
  }
  return { right, wrong, examples };
}

/** Lists the values that are false; a missing one is not. */
function faultsOf(each: Product, product: Product): string[] {
  const faults: string[] = [];
  if (!isName(each.product_name, product))
    faults.push(`name ${each.product_name} not ${product.product_name}`);
  if (each.price !== '' && !sameAmount(product.price, each.price))
    faults.push(`price ${each.price} not ${product.price}`);
  if (each.currency !== '' && product.price !== '' && each.currency !== product.currency)
    faults.push(`currency ${each.currency} not ${product.currency || 'empty'}`);
  const { availability } = product;
  if (!['-', '', each.availability].includes(availability) && each.availability !== '')
    faults.push(`availability ${each.availability} not ${availability}`);
  return faults;
}

const percent = (part: number, whole: number) =>
  whole === 0 ? '–' : `${((100 * part) / whole).toFixed(1)} %`;

function print(results: readonly Result[]): void {
  console.log(
    '| file | language | records | right | false | questions | ms | asked, or why not |\n|---|---|---:|---:|---:|---:|---:|---|',
  );
  for (const each of results) {
    console.log(
      `| ${each.name} | ${each.language} | ${each.wanted} | ${percent(each.right, each.wanted)} | ${each.wrong} | ${each.questions} | ${Math.round(each.milliseconds)} | ${each.outcome} |`,
    );
    if (process.env.EXAMPLES)
      for (const example of each.examples) console.log(`    ${example.slice(0, 200)}`);
  }
  const sum = (of: (each: Result) => number) => results.reduce((total, each) => total + of(each), 0);
  const counted = (each: Result) => (each.questions <= questionsMax ? each.right : 0);
  const wanted = sum((each) => each.wanted);
  const shares = results.filter((each) => each.wanted > 0).map((each) => counted(each) / each.wanted);
  const mean = shares.reduce((total, share) => total + share, 0) / shares.length;
  console.log(
    `\n${results.length} files of ${new Set(results.map((each) => each.system)).size} systems in ${new Set(results.map((each) => each.language)).size} languages: ` +
      `${percent(sum(counted), wanted)} of ${wanted} records right with at most ${questionsMax} questions (${percent(mean, 1)} as the mean of the files), ` +
      `${sum((each) => each.wrong)} false; ${results.filter((each) => each.questions === 0 && each.right === each.wanted).length} files without a question and wholly right; ` +
      `slowest inspection ${Math.round(Math.max(...results.map((each) => each.milliseconds)))} ms`,
  );
}

async function main(): Promise<void> {
  const [folder, part = ''] = process.argv.slice(2);
  if (!folder) throw new Error('usage: tsx scripts/measure-files.ts FOLDER [PART OF A NAME]');
  const names = readdirSync(folder).filter(
    (name) => name.includes(part) && readdirSync(join(folder, name)).includes('truth.csv'),
  );
  const dataDir = mkdtempSync(join(tmpdir(), 'measure-files-'));
  const service = await startServiceProcess(dataDir, { API_KEYS: apiKey });
  try {
    const results: Result[] = [];
    for (const name of names.sort()) results.push(await measureFile(service.url, folder, name));
    print(results);
  } finally {
    await service.stop();
    rmSync(dataDir, { recursive: true });
  }
}

void main();
