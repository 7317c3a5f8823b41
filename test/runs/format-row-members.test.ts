import type { FormatDefinition } from '../../src/feed-format/format-definition';
import { putFormat } from '../support/format-requests';
import { startTestService, testKey, type TestService } from '../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const columns: FormatDefinition['columns'] = {
  sku: { from: ['Nr'] },
  product_name: { from: ['Name'] },
  price: { from: ['Preis'] },
};

let partners = 0;

/** A new partner with a format, and requests for it. */
async function partnerWith(definition: FormatDefinition) {
  const partner = `Partner ${++partners}`;
  const saved = await putFormat(service.api, partner, 'own', definition);
  expect([saved.status, saved.body.definition]).toEqual([200, definition]);
  const fetchText = async (path: string) => {
    const response = await fetch(service.url + path, { headers: { 'x-api-key': testKey } });
    return { status: response.status, text: await response.text() };
  };
  return {
    load: async (csv: string) => {
      await service.db('digest_blocks').delete();
      const { jobId, job } = await service.api.loadFeed(csv, partner, { format: 'own' });
      const rejects = await fetchText(`/jobs/${jobId}/rejects.csv`);
      const { processed, inserted, updated, unchanged, skipped } = job.summary;
      return { counts: { processed, inserted, updated, unchanged, skipped }, rejects: rejects.text, jobId };
    },
    products: async () => {
      const { body } = await service.api.get(`/products?partner_name=${encodeURIComponent(partner)}`);
      return Object.fromEntries(
        (body.items as { sku: string; product_name: string; product_id: string }[]).map((item) => [
          item.sku,
          item,
        ]),
      );
    },
    download: () => fetchText(`/partners/${encodeURIComponent(partner)}/products.csv?format=own`),
    template: () => fetchText(`/feeds/template.csv?format=own&partner_name=${encodeURIComponent(partner)}`),
    inspect: (csv: string) => service.api.inspect({ csv, partnerName: partner, fields: { format: 'own' } }),
  };
}

const namesOf = (products: Record<string, { product_name: string }>) =>
  Object.fromEntries(Object.entries(products).map(([sku, { product_name }]) => [sku, product_name]));

describe('a format without quotes', () => {
  const format: FormatDefinition = { delimiter: ';', quote: 'none', columns };
  const file = 'Nr;Name;Preis\nA;12" "pan";5\nB;"Pot;6\nC;"Lid";x"\n"D;Mug;y\n';

  it('reads quotes as characters, in the rejects and the exported products too', async () => {
    const { load, products, download } = await partnerWith(format);

    const { counts, rejects } = await load(file);

    expect(counts).toMatchObject({ processed: 4, inserted: 2, skipped: 2 });
    expect(namesOf(await products())).toEqual({ A: '12" "pan"', B: '"Pot' });
    expect(rejects).toMatch(
      /^_line;_codes;_messages;Nr;Name;Preis\n4;invalid_price;[^";]*;C;"Lid";x"\n5;invalid_price;[^";]*;"D;Mug;y\n$/,
    );
    const mended = await load(rejects.replace('x"', '7').replace(';y', ';8'));
    expect(mended.counts).toMatchObject({ processed: 2, inserted: 2 });
    const { text } = await download();
    expect(text).toBe('Nr;Name;Preis\nA;12" "pan";5\nB;"Pot;6\nC;"Lid";7\n"D;Mug;8\n');
    expect((await load(text)).counts).toMatchObject({ processed: 4, unchanged: 4 });
  });

  it('shows the same rows when the file is inspected, and the record that set a product', async () => {
    const { load, products, inspect } = await partnerWith(format);
    const { body } = await inspect(file);
    expect(body.rows.map(({ values }: { values: { product_name: string } }) => values.product_name)).toEqual([
      '12" "pan"',
      '"Pot',
    ]);
    await load(file);
    const { B } = await products();
    const { status, body: source } = await service.api.get(`/products/${B!.product_id}/source`);
    expect([status, source.record_text]).toEqual([200, 'B;"Pot;6']);
  });

  it('is 422 for products that need quotes, and has a template without them', async () => {
    const { load, download, template } = await partnerWith({ ...format, delimiter: ',' });
    await service.api.loadFeed('sku,product_name\nA,"a, b"\n', `Partner ${partners}`, { format: 'standard' });

    const { status, text } = await download();

    expect(status).toBe(422);
    expect(JSON.parse(text).detail).toMatchObject([
      {
        type: 'not_in_format',
        msg: expect.stringMatching(/product_name of PR\d+ has a delimiter or line break/),
      },
    ]);
    expect((await load((await template()).text)).counts).toMatchObject({ processed: 1, skipped: 0 });
  });
});

describe('a format with conditions of rows', () => {
  const format: FormatDefinition = {
    columns,
    fill_down: [{ column: 'product_name', by: 'Handle' }],
    only_rows_where: [
      { header: 'Status', values: ['active'], by: 'Handle' },
      { header: 'Typ', values: ['variant', ''] },
    ],
  };
  const file = `Handle,Nr,Name,Preis,Status,Typ
mug,M,Mug,1,active,parent
mug,M-1,,5,,variant
mug,M-2,,x,,variant
pot,P-1,Pot,5,draft,variant
pot,P-2,,x,,variant
`;

  it('loads only rows that meet them, and repeats filled cells in the rejects', async () => {
    const { load, products, download } = await partnerWith(format);

    const { counts, rejects } = await load(file);

    expect(counts).toMatchObject({ processed: 2, inserted: 1, skipped: 1 });
    expect(namesOf(await products())).toEqual({ 'M-1': 'Mug' });
    expect(rejects).toMatch(
      /^_line,_codes,_messages,Handle,Nr,Name,Preis,Status,Typ\n4,invalid_price,.*,mug,M-2,Mug,x,active,variant\n$/,
    );
    expect((await load(rejects.replace(',x,', ',6,'))).counts).toMatchObject({ processed: 1, inserted: 1 });
    const { text } = await download();
    expect(text).toBe('Nr,Name,Preis,Status,Typ\nM-1,Mug,5,active,variant\nM-2,Mug,6,active,variant\n');
    expect((await load(text)).counts).toMatchObject({ processed: 2, unchanged: 2 });
  });

  it('counts the same rows in a plan, and withdraws no product of a row whose value is unknown', async () => {
    const { load, products } = await partnerWith({ ...format, fill_down: undefined });
    await load(
      'Handle,Nr,Name,Status,Typ\na,A-1,a,active,variant\na,A-2,a,active,variant\nb,B,b,active,variant\n',
    );
    const broken =
      'Handle,Nr,Name,Status,Typ\na,A-1,a,active,variant,x\na,A-2,a,,variant\nb,B,b,active,variant\n';
    const { body } = await service.api.upload({
      csv: broken,
      partnerName: `Partner ${partners}`,
      fields: { format: 'own', mode: 'replace' },
    });
    const { body: plan } = await service.api.post(`/jobs/${body.validation_job_id}/plan`);
    expect(plan.summary).toMatchObject({ processed: 3, skipped: 2 });
    expect(plan.issue_counts.map(({ code }: { code: string }) => code).sort()).toEqual([
      'incomplete_group',
      'no_prices',
      'too_many_fields',
    ]);
    await service.api.post(`/jobs/${body.validation_job_id}/run`);
    expect(Object.keys(await products()).sort()).toEqual(['A-1', 'A-2', 'B']);
  });
});

describe('a format with text marks', () => {
  const format: FormatDefinition = {
    columns,
    text_marks: 'strip',
    fill_down: [{ column: 'product_name', by: 'Gruppe' }],
  };
  const file = `Gruppe,Nr,Name,Preis
g,"=""00123""",'=1+1,"=""5"""
g,'007,,x
h,'-8,''@x,y
`;

  it('loads texts without marks, keeps them in the rejects, and puts them back in exported products', async () => {
    const { load, products, download } = await partnerWith(format);

    const { counts, rejects } = await load(file);

    expect(counts).toMatchObject({ processed: 3, inserted: 1, skipped: 2 });
    expect(rejects).toMatch(/\n3,invalid_price,.*,g,'007,'=1\+1,x\n4,invalid_price,.*,h,'-8,''@x,y\n$/);
    await load(rejects.replace(/,[xy]\n/g, ',6\n'));
    expect(namesOf(await products())).toEqual({ '00123': '=1+1', '007': '=1+1', '-8': "'@x" });
    const { text } = await download();
    expect(text).toBe(`Nr,Name,Preis\n'00123,'=1+1,5\n'007,'=1+1,6\n'-8,''@x,6\n`);
    expect((await load(text)).counts).toMatchObject({ processed: 3, unchanged: 3 });
  });

  it('finds the record that set a product', async () => {
    const { load, products } = await partnerWith(format);
    await load(file);
    const found = await products();
    const { status, body } = await service.api.get(`/products/${found['00123']!.product_id}/source`);
    expect([status, body.record_text]).toEqual([200, `g,"=""00123""",'=1+1,"=""5"""`]);
  });
});
