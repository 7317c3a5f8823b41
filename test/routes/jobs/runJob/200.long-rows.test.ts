import { startTestService, type TestService } from '../../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

/** Maximum size of a row, line end included. */
const rowBytes = 524_288;
const head = 'sku,product_name,price\n';
const longRow = `"LONG","Lamp\n${'x'.repeat(rowBytes)}",5\n`;
const csv = `${head}TENT-2,Tent,189.90\n${longRow}LAMP-1,Lamp,NA\nLAMP-2,Lamp,24.50\n`;

const longRowIssue = {
  line: 3,
  last_line: 4,
  row: 2,
  sku: 'LONG',
  field: null,
  column_number: null,
  code: 'value_too_long',
  severity: 'error',
  message: `The row is longer than ${rowBytes} bytes. Close its quotes, or shorten it.`,
  value: null,
};
const counters = {
  processed: 4,
  inserted: 2,
  updated: 0,
  unchanged: 0,
  skipped: 2,
  withdrawn: 0,
  restored: 0,
};

describe('a row of more than 512 KiB whose quotes close', () => {
  it('is one skipped row in run and plan; all others are loaded', async () => {
    const { jobId } = await service.api.uploadFeed(csv, 'Loaded');

    const plan = await service.api.post(`/jobs/${jobId}/plan`);
    const run = await service.api.post(`/jobs/${jobId}/run`);

    for (const { body } of [plan, run])
      expect(body).toMatchObject({ status: 'completed', summary: counters });
    expect(plan.body.items.map(({ row, line, sku }: Record<string, unknown>) => [row, line, sku])).toEqual([
      [1, 2, 'TENT-2'],
      [4, 6, 'LAMP-2'],
    ]);
    expect(plan.body.issue_counts).toEqual(run.body.issue_counts);
    const skus = await service
      .db('products')
      .join('partners', 'partners.partner_id', 'products.partner_id')
      .where('partner_name', 'Loaded')
      .orderBy('sku')
      .pluck('sku');
    expect(skus).toEqual(['LAMP-2', 'TENT-2']);
  });

  it('has one issue with its lines and sku; later rows keep their numbers', async () => {
    const { jobId } = await service.api.loadFeed(csv, 'Issues');

    const { body } = await service.api.get(`/jobs/${jobId}/issues`);

    expect(body.items).toEqual([
      expect.objectContaining(longRowIssue),
      expect.objectContaining({ line: 5, last_line: 5, row: 3, sku: 'LAMP-1', code: 'invalid_price' }),
    ]);
  });

  it('is not in the rejects, which contain all other skipped rows', async () => {
    const { jobId } = await service.api.loadFeed(csv, 'Rejects');

    const { status, body } = await service.api.get(`/jobs/${jobId}/rejects.csv`);

    expect(status).toBe(200);
    const lines = (body as string).split('\n');
    expect(lines[0]).toBe('_line,_codes,_messages,sku,product_name,price');
    expect(lines.slice(1)).toEqual([expect.stringMatching(/^5,invalid_price,.*,LAMP-1,Lamp,NA$/), '']);
  });

  it('is skipped alike in a run that changes nothing', async () => {
    const { jobId } = await service.api.loadFeed(csv, 'Again');

    const { body } = await service.api.post(`/jobs/${jobId}/run`);

    expect(body.summary).toEqual({ ...counters, inserted: 0, unchanged: 2 });
  });

  it('is not reported by an inspection if it ends beyond the inspected part', async () => {
    const { status, body } = await service.api.inspect({ csv, partnerName: 'Inspected' });

    expect(status).toBe(200);
    expect(body).toMatchObject({ complete: false, row_count: 1, issue_counts: [], run_failure: null });
  });
});

describe('a quote that never closes', () => {
  const openQuote = `${head}TENT-2,Tent,189.90\n"LONG,Lamp,5\n${'x\n'.repeat(rowBytes)}`;
  const failure =
    'ETL processing failed: The quote that opens in the record at line 3 is never closed. ' +
    'Products processed: 0. Inserted: 0. Updated: 0. Unchanged: 0. Skipped: 0.';

  it('fails run and plan, for any size of the rest', async () => {
    const { jobId } = await service.api.uploadFeed(openQuote, 'Open quote');

    const plan = await service.api.post(`/jobs/${jobId}/plan`);
    const run = await service.api.post(`/jobs/${jobId}/run`);

    for (const { status, body } of [plan, run]) {
      expect([status, body.status, body.message]).toEqual([200, 'failed', failure]);
    }
    expect((await service.api.get('/products?partner_name=Open quote')).body.count).toBe(0);
  });
});
