import type { ApiClient } from './api-client';
import { mebibyte } from './harness';

const head = 'sku,product_name\n';
const many = (text: string, bytes = 2 * mebibyte) => text.repeat(Math.ceil(bytes / Buffer.byteLength(text)));
const wideHead = (columns: number) =>
  `sku,product_name${Array.from({ length: columns }, (_, at) => `,c${at}`).join('')}`;
const tooLong = 'Invalid CSV file: The header row is longer than 262144 bytes.';
const openQuote = (line: number) =>
  `ETL processing failed: The quote that opens in the record at line ${line} is never closed.`;

/** A file that breaks fragile parsers, and the expected result. */
export interface Monster {
  what: string;
  csv: () => string;
  /** Error of the upload, if it is rejected. */
  refusal?: string;
  /** Beginning of the message of a failed run. */
  failure?: string;
  processed?: number;
  skipped?: number;
}

export const monsters: Monster[] = [
  { what: 'a header that never ends', csv: () => many('x'), refusal: tooLong },
  { what: 'a header of columns that never ends', csv: () => many('sku,product_name,'), refusal: tooLong },
  {
    what: 'a quote in the header that never closes',
    csv: () => `"${many('sku,product_name\n')}`,
    refusal: tooLong,
  },
  {
    what: 'ten thousand columns',
    csv: () => `${wideHead(10_000)}\n${`A,Tent${','.repeat(10_000)}\n`.repeat(100)}`,
    processed: 100,
    skipped: 99,
  },
  {
    what: 'all the columns that fit',
    csv: () => `sku,product_name${','.repeat(250_000)}\nA,Tent\n`,
    processed: 1,
    skipped: 0,
  },
  {
    what: 'a cell of five megabytes',
    csv: () => `${head}A,Tent\nB,"${many('x', 5 * mebibyte)}"\nC,Lamp\n`,
    processed: 3,
    skipped: 1,
  },
  {
    what: 'a cell of five megabytes without quotes',
    csv: () => `${head}A,${many('x', 5 * mebibyte)}\n`,
    processed: 1,
    skipped: 1,
  },
  {
    what: 'an unclosed quote at the end',
    csv: () => `${head}${`A,${'x'.repeat(197)}\n`.repeat(10_000)}B,"Lamp\n`,
    failure: openQuote(10_002),
  },
  {
    what: 'an unclosed quote at the beginning',
    csv: () => `${head}A,"Tent\n${many('B,Lamp\n')}`,
    failure: openQuote(2),
  },
  {
    what: 'a row of a million commas',
    csv: () => `${head}A,Tent\n${','.repeat(1_000_000)}\nB,Lamp\n`,
    processed: 3,
    skipped: 1,
  },
  {
    what: 'a row of half a million commas',
    csv: () => `${head}A,Tent\n${','.repeat(500_000)}\nB,Lamp\n`,
    processed: 3,
    skipped: 1,
  },
  { what: 'quotes and nothing else', csv: () => `${head}${many('"')}`, processed: 1, skipped: 1 },
  { what: 'quotes, one too many', csv: () => `${head}${many('"')}"`, failure: openQuote(2) },
  {
    what: 'a row of five megabytes between others, of text after closing quotes',
    csv: () => `${head}A,Tent\n"B","x"${many('y"\r', 5 * mebibyte)}\nC,Lamp\n`,
    processed: 3,
    skipped: 1,
  },
  {
    what: 'pairs of quotes',
    csv: () => `${head}${'"","""",""\n'.repeat(10_000)}`,
    processed: 10_000,
    skipped: 10_000,
  },
  {
    what: 'alternating delimiters',
    csv: () => `${head}${'a,b;c\td\ne;f,g\n'.repeat(10_000)}`,
    processed: 20_000,
    skipped: 19_998,
  },
  {
    what: 'a million empty lines',
    csv: () => `${head}${'\n'.repeat(1_000_000)}A,Tent\n${'\r\n'.repeat(1_000_000)}`,
    processed: 1,
    skipped: 0,
  },
  {
    what: 'twenty thousand lines of a comma',
    csv: () => `${head}${',\n'.repeat(20_000)}`,
    processed: 20_000,
    skipped: 20_000,
  },
  {
    what: 'NUL bytes',
    csv: () => `${head}${many('\0', 400_000)}\nA\0,Tent\nB,Lamp\n`,
    processed: 3,
    skipped: 2,
  },
  {
    what: 'carriage returns',
    csv: () => `${head}A,${'\r'.repeat(400_000)}x\nB,\r\r\n`,
    processed: 2,
    skipped: 1,
  },
];

/** Inspects, uploads and runs the file, and compares the three results with each other and the expected one. */
export async function meet(api: ApiClient, monster: Monster): Promise<void> {
  const csv = monster.csv();
  const partnerName = monster.what;
  const { what, refusal = null, failure } = monster;
  const inspection = await api.inspect({ csv, partnerName });
  expect({ what, status: inspection.status, refusal: inspection.body.refusal as unknown }).toEqual({
    what,
    status: 200,
    refusal,
  });
  expect(JSON.stringify(inspection.body).length).toBeLessThan(2 * mebibyte);

  const upload = await api.upload({ csv, partnerName });
  expect({ what, status: upload.status, detail: upload.body.detail as unknown }).toEqual({
    what,
    status: refusal === null ? 201 : 400,
    detail: refusal ?? undefined,
  });
  if (refusal !== null) return;

  const { status, body } = await api.post(`/jobs/${upload.body.validation_job_id}/run`);
  expect(status).toBe(200);
  const { processed, inserted, updated, unchanged, skipped } = body.summary as Record<string, number>;
  expect(processed).toBe(inserted! + updated! + unchanged! + skipped!);
  if (failure !== undefined) {
    expect({
      what,
      status: body.status as string,
      message: (body.message as string).slice(0, failure.length),
    }).toEqual({ what, status: 'failed', message: failure });
    expect(inserted).toBe(0);
  } else {
    expect({ what, processed, skipped }).toEqual({
      what,
      processed: monster.processed,
      skipped: monster.skipped,
    });
  }
}
