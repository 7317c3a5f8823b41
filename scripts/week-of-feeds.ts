/**
 * Shows what the catalog remembers: `make week FEED=feed.csv` loads seven variants of a feed with a header of the standard
 * columns, one after the other, in mode `replace`, into a service of its own. Of the good rows:
 *
 *   1  as in the file
 *   2  a sale: every tenth price is a fifth lower
 *   3  every twentieth row is missing
 *   4  as on day 1: the rows are back, the sale is over
 *   5  every seventh price is a tenth higher, by mistake
 *   6  an export that broke off: the first half of the rows
 *   7  as on day 4, after the revert of day 5, with one price in a hundred halved
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { startServiceProcess } from './service-process';

const apiKey = 'key-of-the-week-of-feeds';
const partner = 'Week';

type Row = Record<string, string>;

const times = (factor: number, row: Row): Row => ({ ...row, price: (Number(row.price) * factor).toFixed(2) });
const everyNth = (n: number, factor: number) => (row: Row, at: number) =>
  at % n === 0 ? times(factor, row) : row;

const variants: ((rows: Row[]) => Row[])[] = [
  (rows) => rows,
  (rows) => rows.map(everyNth(10, 0.8)),
  (rows) => rows.filter((_row, at) => at % 20 !== 1),
  (rows) => rows,
  (rows) => rows.map(everyNth(7, 1.1)),
  (rows) => rows.slice(0, rows.length / 2),
  (rows) => rows.map(everyNth(100, 0.5)),
];

const quote = (text: string) => `"${text.replaceAll('"', '""')}"`;

function toCsv(rows: Row[]): string {
  const names = Object.keys(rows[0]!);
  return [names, ...rows.map((row) => names.map((name) => quote(row[name]!)))].join('\n') + '\n';
}

/** Rows that have a price, which all variants change. */
function readRows(file: string): Row[] {
  const rows = parse<Row>(readFileSync(file, 'utf8'), { columns: true, bom: true });
  return rows.filter(({ price }) => Number(price) > 1);
}

interface Answer {
  status: number;
  body: any; // eslint-disable-line @typescript-eslint/no-explicit-any -- printed, not computed with
}

async function main(file: string): Promise<void> {
  const rows = readRows(file);
  const dataDir = mkdtempSync(join(tmpdir(), 'week-'));
  const service = await startServiceProcess(dataDir, { API_KEYS: apiKey });
  const ask = async (method: string, path: string, body?: RequestInit['body']): Promise<Answer> => {
    const isJson = typeof body === 'string';
    const headers = { 'x-api-key': apiKey, ...(isJson && { 'content-type': 'application/json' }) };
    const response = await fetch(service.url + path, { method, headers, body });
    return { status: response.status, body: await response.json() };
  };
  const print = (text: string) => process.stdout.write(`${text}\n`);

  async function load(day: number): Promise<{ jobId: string; feedId: string; status: number; text: string }> {
    const form = new FormData();
    form.set('partner_name', partner);
    form.set('mode', 'replace');
    form.set('file', new Blob([toCsv(variants[day - 1]!(rows))], { type: 'text/csv' }), `day-${day}.csv`);
    const { body: feed } = await ask('POST', '/feeds/upload', form);
    const { status, body } = await ask('POST', `/jobs/${feed.validation_job_id}/run`);
    const text = JSON.stringify(status === 200 ? body.summary : body);
    return { jobId: feed.validation_job_id, feedId: feed.feed_id, status, text };
  }

  try {
    print(`${rows.length.toLocaleString('en')} rows of ${file}`);
    const evenings: string[] = [];
    let fifthJob = '';
    for (let day = 1; day <= 5; day++) {
      const { jobId, feedId, text } = await load(day);
      if (day === 5) fifthJob = jobId;
      evenings.push(new Date(Date.now() + 1).toISOString());
      await new Promise((resolve) => setTimeout(resolve, 20));
      print(`day ${day}  ${feedId}  ${text}`);
    }
    const bad = await load(6);
    print(`day 6  ${bad.feedId}  ${bad.text}`);
    const job = await ask('GET', `/jobs/${bad.jobId}`);
    print(`       ${job.body.status}: ${job.body.message}`);

    const preview = await ask('POST', `/jobs/${fifthJob}/revert?run=1&dry_run=true`);
    print(
      `revert of day 5, dry run: ${JSON.stringify({ ...preview.body, items: preview.body.items?.length })}`,
    );
    const revert = await ask('POST', `/jobs/${fifthJob}/revert?run=1`);
    print(`revert of day 5: ${JSON.stringify(revert.body)}`);
    const last = await load(7);
    print(`day 7  ${last.feedId}  ${last.text}`);

    const list = (query: string) => ask('GET', `/products?partner_name=${partner}&limit=3&${query}`);
    for (const [name, at] of [
      ['day 2', evenings[1]!],
      ['day 3', evenings[2]!],
    ] as const) {
      const { body } = await list(`as_of=${at}`);
      print(`the catalog of ${name}, first products:`);
      for (const { product_id, sku, price } of body.items) print(`       ${product_id}  ${sku}  ${price}`);
    }
    const { body: page } = await list(`sku=${rows[0]!.sku}`);
    const productId = page.items[0].product_id as string;
    const { body: prices } = await ask('GET', `/products/${productId}/prices`);
    print(`prices of ${productId}: ${JSON.stringify(prices, null, 1)}`);

    const order = { items: [{ product_id: productId, quantity: 1 }], partner_name: partner };
    const { status, body: placed } = await ask('POST', '/orders', JSON.stringify(order));
    print(`order: ${status} ${JSON.stringify(placed)}`);
    const [item] = placed.items;
    const source = await ask('GET', `/orders/${placed.order_id}/items/${item.order_item_id}/source`);
    print(`its source: ${JSON.stringify(source.body, null, 1)}`);
  } finally {
    await service.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

const [, , file] = process.argv;
if (file === undefined) throw new Error('Name a feed file: make week FEED=feed.csv');
void main(file);
