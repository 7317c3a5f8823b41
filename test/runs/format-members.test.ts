import type { FormatDefinition } from '../../src/feed-format/format-definition';
import { putFormat } from '../support/format-requests';
import { startTestService, testKey, type TestService } from '../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

let partners = 0;
const own = Object.fromEntries(
  ['sku', 'product_name', 'description', 'brand', 'price', 'currency', 'availability'].map((name) => [
    name,
    { from: [name] },
  ]),
) as FormatDefinition['columns'];

/** A new partner with a format `own` and products. */
async function partnerWith(format: FormatDefinition, products?: string) {
  const partner = `Members ${++partners}`;
  await putFormat(service.api, partner, 'own', format);
  if (products) await service.api.loadFeed(products, partner, { format: 'standard' });
  return partner;
}

/** Stored products, each as its non-null values in the order of their columns. */
async function productsOf(partnerName: string) {
  const { body } = await service.api.get(`/products?partner_name=${encodeURIComponent(partnerName)}`);
  const columns = ['sku', 'product_name', 'description', 'brand', 'price', 'currency', 'availability'];
  return (body.items as Record<string, string | number | null>[])
    .map((product) => columns.map((column) => product[column] ?? '').join(','))
    .sort();
}

async function textOf(path: string) {
  const response = await fetch(`${service.url}${path}`, { headers: { 'x-api-key': testKey } });
  expect(response.status).toBe(200);
  return response.text();
}

describe('a format with keep_when_empty', () => {
  const keeping: FormatDefinition = {
    columns: own,
    keep_when_empty: ['product_name', 'description', 'price', 'currency', 'availability'],
  };
  const stored =
    'sku,product_name,description,brand,price,currency,availability\nA,Tent,Light,Acme,5.5,EUR,in_stock\nB,Lamp,Bright,Acme,7,USD,\n';
  const head = 'sku,product_name,description,brand,price,currency,availability';

  it('keeps stored values where cells are empty, and changes the others', async () => {
    const partner = await partnerWith(keeping, stored);
    const { job } = await service.api.loadFeed(`${head}\nA,,,,,,\nB,,Dim,,8,,sold out\n`, partner, {
      format: 'own',
    });

    expect(job.summary).toMatchObject({ updated: 2, skipped: 0 });
    expect(await productsOf(partner)).toEqual([
      'A,Tent,Light,,5.5,EUR,in_stock',
      'B,Lamp,Dim,,8,USD,sold_out',
    ]);
  });

  it('gives new products null, and skips those without a name, also in the rejects', async () => {
    const partner = await partnerWith(keeping, stored);
    const rows = `${head}\nC,New,,,,,\nD,,x,,3,,\nA,,,Acme,,,\n,Y,,,,,\n`;
    const { job, jobId } = await loadWithJob(partner, rows);

    expect(job.summary).toMatchObject({ processed: 4, inserted: 1, unchanged: 1, skipped: 2 });
    expect(job.issue_counts).toMatchObject([{ code: 'missing_required', count: 2 }]);
    expect(await productsOf(partner)).toEqual([
      'A,Tent,Light,Acme,5.5,EUR,in_stock',
      'B,Lamp,Bright,Acme,7,USD,',
      'C,New,,,,,',
    ]);
    const { body } = await service.api.get(`/jobs/${jobId}/issues`);
    expect(body.items).toEqual([
      expect.objectContaining({ line: 3, sku: 'D', field: 'product_name', column_number: 2, value: null }),
      expect.objectContaining({ line: 5, sku: null, field: 'sku' }),
    ]);
    const rejects = await textOf(`/jobs/${jobId}/rejects.csv`);
    expect(rejects).toMatch(
      /\n3,missing_required,product_name [^\n]*,D,,x,,3,,\n5,missing_required,sku [^\n]*\n$/,
    );
    // The digest of a skipped row is not kept: a product that exists now is updated.
    await service.api.loadFeed('sku,product_name\nD,Dome\n', partner, { format: 'standard' });
    const { job: again } = await loadWithJob(partner, rows);
    expect(again.summary).toMatchObject({ skipped: 1 });
    expect(await productsOf(partner)).toContainEqual('D,Dome,x,,3,,');
  });

  it('shows the kept values in the plan and in the changes of the run', async () => {
    const partner = await partnerWith(keeping, stored);
    const csv = `${head}\nA,,Lighter,Acme,,,\nE,Egg,,,,,\n`;
    const { body } = await service.api.upload({ csv, partnerName: partner, fields: { format: 'own' } });
    const jobId = body.validation_job_id as string;
    const { body: plan } = await service.api.post(`/jobs/${jobId}/plan`);

    const changes = [{ field: 'description', before: 'Light', after: 'Lighter' }];
    const added = [{ field: 'product_name', before: null, after: 'Egg' }];
    expect(plan.items).toMatchObject([
      { action: 'update', sku: 'A', changes },
      { action: 'insert', sku: 'E', changes: added },
    ]);
    await service.api.post(`/jobs/${jobId}/run`);
    const { body: made } = await service.api.get(`/jobs/${jobId}/changes?run=1`);
    expect(made.items).toMatchObject([
      { action: 'update', sku: 'A', changes },
      { action: 'insert', sku: 'E', changes: added },
    ]);
    const before = 'A,Tent,Light,Acme,5.5,EUR,in_stock';
    expect(await productsOf(partner)).not.toContain(before);
    expect((await service.api.post(`/jobs/${jobId}/revert?run=1`)).status).toBe(200);
    expect(await productsOf(partner)).toEqual([before, 'B,Lamp,Bright,Acme,7,USD,']);
  });

  it('loads the last of several rows of a sku, whose empty cells keep what was stored before', async () => {
    const partner = await partnerWith(keeping, stored);
    await service.api.loadFeed(`${head}\nA,Tent,Other,Acme,6,,\nA,,,Acme,,,in_stock\n`, partner, {
      format: 'own',
    });
    expect((await productsOf(partner))[0]).toBe('A,Tent,Light,Acme,5.5,EUR,in_stock');
  });

  it('restores withdrawn products with their values in mode replace', async () => {
    const partner = await partnerWith(keeping, stored);
    const options = { format: 'own', mode: 'replace' };
    await service.api.loadFeed(`${head}\nB,,,Acme,,,\n`, partner, options);
    expect(await productsOf(partner)).toEqual(['B,Lamp,Bright,Acme,7,USD,']);
    await service.api.loadFeed(`${head}\nA,,,Acme,,,\nB,,,Acme,,,\n`, partner, options);
    expect(await productsOf(partner)).toEqual([
      'A,Tent,Light,Acme,5.5,EUR,in_stock',
      'B,Lamp,Bright,Acme,7,USD,',
    ]);
  });

  it('changes nothing when the products are downloaded in the format and loaded again', async () => {
    const partner = await partnerWith(keeping, stored);
    const file = await textOf(`/partners/${encodeURIComponent(partner)}/products.csv?format=own`);
    const { job } = await service.api.loadFeed(file, partner, { format: 'own' });
    expect(job.summary).toMatchObject({ unchanged: 2, updated: 0 });
  });

  async function loadWithJob(partner: string, csv: string) {
    const { body } = await service.api.upload({ csv, partnerName: partner, fields: { format: 'own' } });
    const jobId = body.validation_job_id as string;
    const { body: job } = await service.api.post(`/jobs/${jobId}/run`);
    return { job, jobId };
  }
});

describe('a format with currency_from_sign', () => {
  const signed: FormatDefinition = { columns: own, currency_from_sign: true };

  it('loads prices with signs, rejects conflicts, and writes what it reads', async () => {
    const partner = await partnerWith(signed);
    const csv =
      'sku,product_name,price,currency\nA,N,5 zł,\nB,N,$15.00 USD,\nC,N,€5,USD\nD,N,kr 5,SEK\nE,N,"12,-",EUR\n';
    const { body } = await service.api.upload({ csv, partnerName: partner, fields: { format: 'own' } });
    const jobId = body.validation_job_id as string;
    const { body: job } = await service.api.post(`/jobs/${jobId}/run`);

    expect(job.summary).toMatchObject({ inserted: 4, skipped: 1 });
    expect(await productsOf(partner)).toEqual([
      'A,N,,,5,PLN,',
      'B,N,,,15,USD,',
      'D,N,,,5,SEK,',
      'E,N,,,12,EUR,',
    ]);
    expect(await textOf(`/jobs/${jobId}/rejects.csv`)).toMatch(/\n4,currency_conflict,[^\n]*,C,N,€5,USD\n$/);
    const file = await textOf(`/partners/${encodeURIComponent(partner)}/products.csv?format=own`);
    const { job: again } = await service.api.loadFeed(file, partner, { format: 'own' });
    expect(again.summary).toMatchObject({ unchanged: 4, skipped: 0 });
  });

  it('does not change how standard reads the same file', async () => {
    const partner = await partnerWith(signed);
    const csv = 'sku,product_name,price,currency\nA,N,€5,USD\nB,N,kr 5,SEK\n';
    const { job } = await service.api.loadFeed(csv, partner, { format: 'standard' });
    expect(job.issue_counts).toMatchObject([{ code: 'invalid_price', count: 1 }]);
    expect(await productsOf(partner)).toEqual(['A,N,,,5,USD,']);
  });
});

describe('a format with a quantity', () => {
  const stock: FormatDefinition = {
    columns: {
      sku: { from: ['sku'] },
      product_name: { from: ['product_name'] },
      availability: {
        quantity: { from: ['stock'], unless: [{ header: 'tracker', values: [''] }] },
      },
    },
  };

  it('loads statuses, keeps the cells in the rejects, and writes what it reads', async () => {
    const partner = await partnerWith(stock);
    const csv =
      'sku,product_name,stock,tracker\nA,N,10+,t\nB,N,0,t\nC,N,5,\nD,N,preorder,t\nE,N,,t\nF,,3,t\n';
    const { body } = await service.api.upload({ csv, partnerName: partner, fields: { format: 'own' } });
    const jobId = body.validation_job_id as string;
    const { body: plan } = await service.api.post(`/jobs/${jobId}/plan`);
    const { body: job } = await service.api.post(`/jobs/${jobId}/run`);

    expect(plan.summary).toMatchObject({ inserted: 5, skipped: 1 });
    expect(job).toMatchObject({
      summary: { inserted: 5, skipped: 1 },
      issue_counts: [{ code: 'missing_required' }],
    });
    const loaded = ['A,N,,,,,in_stock', 'B,N,,,,,out_of_stock', 'C,N,,,,,', 'D,N,,,,,preorder', 'E,N,,,,,'];
    expect(await productsOf(partner)).toEqual(loaded);
    expect(await textOf(`/jobs/${jobId}/rejects.csv`)).toMatch(/\n7,missing_required,[^\n]*,F,,3,t\n$/);

    const file = await textOf(`/partners/${encodeURIComponent(partner)}/products.csv?format=own`);
    expect(file).toBe('sku,product_name,stock\nA,N,1\nB,N,0\nC,N,\nD,N,preorder\nE,N,\n');
    const { job: again } = await service.api.loadFeed(file, partner, { format: 'own' });
    expect(again).toMatchObject({ summary: { unchanged: 5, skipped: 0 }, issue_counts: [] });
    const template = `/feeds/template.csv?format=own&partner_name=${encodeURIComponent(partner)}`;
    expect(await textOf(template)).toBe('sku,product_name,stock\nTENT-2,Two-person tent,1\n');
  });

  it('shows its columns and statuses in an inspection', async () => {
    const partner = await partnerWith(stock);
    const { body } = await service.api.inspect({
      csv: 'sku,product_name,stock,tracker,more\nA,N,3,t,m\n',
      partnerName: partner,
      fields: { format: 'own' },
    });
    expect(body.headers.map(({ column }: { column: string | null }) => column)).toEqual([
      'sku',
      'product_name',
      'availability',
      null,
      null,
    ]);
    expect(body.rows).toMatchObject([{ values: { sku: 'A', availability: 'in_stock' } }]);
    expect(body.issues).toEqual([]);
  });
});
