import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { mebibyte } from '../../support/harness';
import { manyProducts } from '../../support/catalog';
import { startUsedService, type ServiceProcess } from '../../support/process';

let service: ServiceProcess;
beforeAll(async () => {
  service = await startUsedService();
});

function peakMegabytes(pid: number): number {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!;
  return (Number(kilobytes) * 1024) / 1e6;
}

interface Shape {
  rows: number;
  /** Length per row. */
  descriptionBytes: number;
  /** Ignored columns, and their total size per row. */
  ignoredColumns: number;
  ignoredBytes: number;
  /** Shares of rows with a warning, and of skipped rows. */
  warnings: number;
  errors: number;
}

const noShape: Shape = {
  rows: 1,
  descriptionBytes: 0,
  ignoredColumns: 0,
  ignoredBytes: 0,
  warnings: 0,
  errors: 0,
};

/** Tells whether row `at` belongs to the share, which is spread over the feed. */
const isOf = (share: number, at: number) => Math.floor((at + 1) * share) > Math.floor(at * share);

function feedOf({ rows, descriptionBytes, ignoredColumns, ignoredBytes, warnings, errors }: Shape): Buffer {
  const ignoredNames = Array.from({ length: ignoredColumns }, (_, at) => `,x${at}`).join('');
  const cell = 'y'.repeat(ignoredColumns > 0 ? Math.floor(ignoredBytes / ignoredColumns) : 0);
  const rest = `,${'d'.repeat(descriptionBytes)}${`,${cell}`.repeat(ignoredColumns)}\n`;
  const texts = [`sku,product_name,price,availability,description${ignoredNames}\n`];
  for (let at = 0; at < rows; at++) {
    const price = isOf(errors, at) ? 'NaN' : '1.00';
    texts.push(`S${at},Name ${at},${price},${isOf(warnings, at) ? 'perhaps' : 'in_stock'}`, rest);
  }
  return Buffer.concat(texts.map((text) => Buffer.from(text)));
}

/** Plans, then runs all feeds concurrently, each for its own partner. */
async function planAndRun(feeds: readonly Buffer[]) {
  const uploaded = [];
  for (const feed of feeds) uploaded.push(await service.api.uploadFeed(feed, `Partner ${partners++}`));
  for (const what of ['plan', 'run']) {
    const responses = await Promise.all(
      uploaded.map(({ jobId }) => service.api.post(`/jobs/${jobId}/${what}`)),
    );
    expect(responses.map(({ status, body }) => [status, body.status])).toEqual(
      feeds.map(() => [200, 'completed']),
    );
  }
  expect(service.stdout).not.toContain('ETL thread crashed');
  expect(peakMegabytes(service.pid)).toBeLessThan(200);
}
let partners = 0;

describe('no thread crashes and the process stays below 200 MB with', () => {
  const other = Buffer.from(manyProducts(20_000));

  it('an ignored column of 100 KB in 1,500 rows', async () => {
    const wide = feedOf({ ...noShape, rows: 1_500, ignoredColumns: 1, ignoredBytes: 100_000 });
    await planAndRun([wide, other]);
  });

  it('descriptions of 10 KB and an unknown availability in each of 11,000 rows', async () => {
    const warned = feedOf({ ...noShape, rows: 11_000, descriptionBytes: 10_000, warnings: 1 });
    await planAndRun([warned, other]);
  });

  it('concurrent feeds of any width, columns and share of issues', async () => {
    const feedBytes = 12 * mebibyte;
    const shape = fc
      .record({
        descriptionBytes: fc.integer({ min: 0, max: 65_535 }),
        ignoredColumns: fc.integer({ min: 0, max: 20_000 }),
        ignoredBytes: fc.integer({ min: 0, max: 400_000 }),
        warnings: fc.constantFrom(0, 0.01, 0.5, 1),
        errors: fc.constantFrom(0, 0.01, 0.5, 1),
      })
      .map((row): Shape => {
        const rowBytes = 40 + row.descriptionBytes + row.ignoredColumns + row.ignoredBytes;
        return { ...row, rows: Math.min(20_000, Math.ceil(feedBytes / rowBytes)) };
      });
    await fc.assert(
      fc.asyncProperty(fc.array(shape, { minLength: 1, maxLength: 6 }), (shapes) =>
        planAndRun(shapes.map(feedOf)),
      ),
      { numRuns: 4, endOnFailure: true },
    );
  });
});
