import type { BrowserContext, Page } from 'playwright-core';
import { findFaults, startBrowser } from '../../support/browser';
import { goToView, openConsole } from '../../support/console';
import { fillCell, mendCell } from '../../support/mending';
import { startUsedService, type ServiceProcess } from '../../support/process';

let service: ServiceProcess;
let browser: BrowserContext;
beforeAll(async () => {
  browser = await startBrowser();
  service = await startUsedService();
});

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const grid = (page: Page) => page.getByRole('grid', { name: 'Mend the skipped rows' });
const issuesOf = (feedId: string, search = '') =>
  openConsole(browser, { url: service.url!, key: service.key! }, `/feeds/${feedId}/issues${search}`);

/** Sends the changed rows, and waits for their preview. @returns the new feed */
async function sendMended(page: Page) {
  await button(page, 'Send the mended rows').click();
  await page.waitForURL(/\/feeds\/FD\d+\/plan$/);
  await page.getByRole('region', { name: 'Preview of the run' }).waitFor();
  const [, feedId] = /feeds\/(FD\d+)\/plan$/.exec(page.url())!;
  return (await service.api.get(`/feeds/${feedId}`)).body as Record<string, string>;
}

async function runNow(page: Page): Promise<void> {
  await button(page, 'Run now').click();
  await page.getByText('The run is complete').waitFor();
}

/** Prices of the partner's products by sku, from the API. */
async function pricesOf(partner: string): Promise<Record<string, number | null>> {
  const path = `/products?partner_name=${encodeURIComponent(partner)}&limit=100`;
  const { items } = (await service.api.get(path)).body as {
    items: { sku: string; price: number | null }[];
  };
  return Object.fromEntries(items.map(({ sku, price }) => [sku, price]));
}

const feedsOf = async (partner: string) =>
  (await service.api.get(`/feeds?partner_name=${partner}`)).body.count as number;

describe('mended rows', () => {
  it('change exactly the products of the edited rows, and only after a preview', async () => {
    const partner = 'Exact';
    const columns = { sku: { from: ['sku'] }, product_name: { from: ['name'] }, price: { from: ['price'] } };
    const save = (separator: string) =>
      service.api.put(`/partners/${partner}/formats/list`, { columns, decimal_separator: separator });
    await save('.');
    const numbers = Array.from({ length: 18 }, (_, at) => at);
    const rows = [
      // Skipped, then loaded by a newer feed; by now, the format reads their prices.
      ...numbers.map((at) => `OLD-${at},Old,"502,93"`),
      // Superseded by a later row.
      ...numbers.flatMap((at) => [`TWICE-${at},Twice,502.93`, `TWICE-${at},Twice,9.90`]),
      'MEND-1,Mended,x',
      'MEND-2,Mended,y',
      'MEND-3,Mended,z',
    ];
    const { feedId } = await service.api.loadFeed(`sku,name,price\n${rows.join('\n')}\n`, partner, {
      format: 'list',
    });
    await save(',');
    const newer = numbers.map((at) => `OLD-${at},Old,"9,90"\n`).join('');
    const since = await service.api.loadFeed(`sku,name,price\n${newer}`, partner, { format: 'list' });
    const before = await pricesOf(partner);
    const { page, complaints } = await issuesOf(feedId);

    await page.getByText(`A newer feed of this partner has been loaded since`).waitFor();
    await page.getByRole('link', { name: since.feedId }).waitFor();
    for (const at of [0, 1, 2]) await fillCell(page, 'price', 56 + at, `${at + 1},50`);
    // Changed and restored: no edit.
    await fillCell(page, 'price', 2, '7');
    await fillCell(page, 'price', 2, '502,93');
    await page.getByText('3 cells changed').waitFor();
    await sendMended(page);

    expect(await pricesOf(partner)).toEqual(before);
    expect(await page.getByRole('row').filter({ hasText: 'MEND-' }).count()).toBe(3);
    await runNow(page);
    expect(await pricesOf(partner)).toEqual({ ...before, 'MEND-1': 1.5, 'MEND-2': 2.5, 'MEND-3': 3.5 });
    expect(complaints).toEqual([]);
  });

  it('of an update change known products only', async () => {
    await service.api.loadFeed('sku,product_name,price\nA,Tent,1\nB,Lamp,2\nC,Mat,3\n', 'Updating');
    const csv = 'sku,price\nX,10\nB,x\nC,30\nY,40\n';
    const { feedId } = await service.api.loadFeed(csv, 'Updating', { mode: 'update' });
    const { page } = await issuesOf(feedId);
    await fillCell(page, 'sku', 2, 'A');
    await fillCell(page, 'price', 3, '20');
    await fillCell(page, 'sku', 5, 'Z');

    expect(await sendMended(page)).toMatchObject({ mode: 'update', format_name: 'standard' });
    await runNow(page);
    expect(await pricesOf('Updating')).toEqual({ A: 10, B: 20, C: 30 });
  });

  it.each([
    { mode: 'replace', collection: 'winter', format: 'excel-eu', sent: { mode: 'upsert' } },
    { mode: 'replace', collection: undefined, format: undefined, sent: { mode: 'upsert' } },
    { mode: 'upsert', collection: 'winter', format: 'standard', sent: { mode: 'upsert' } },
  ])(
    'have the mode, collection and format of their feed: $mode, $collection, $format',
    async ({ sent, ...upload }) => {
      const partner = `Same ${upload.mode} ${upload.format}`;
      // Day 2: the partner has saved a format as the default.
      const columns = { sku: { from: ['product_name'] }, product_name: { from: ['sku'] } };
      const fields = Object.fromEntries(Object.entries(upload).filter(([, value]) => value !== undefined));
      const { feedId } = await service.api.loadFeed(
        'sku;product_name;price\nA;Tent;1\nB;Lamp;2\nC;Mat;x\n',
        partner,
        fields as Record<string, string>,
      );
      await service.api.put(`/partners/${partner}/formats/default`, { columns });
      const { page } = await issuesOf(feedId);
      await fillCell(page, 'price', 4, '3');

      expect(await sendMended(page)).toMatchObject({
        ...sent,
        collection: upload.collection ?? 'main',
        format_name: upload.format ?? 'standard',
      });
      await runNow(page);
      expect(await pricesOf(partner)).toEqual({ A: 1, B: 2, C: 3 });
    },
  );

  it('are loaded in order: of two with one sku, the later one', async () => {
    const csv = 'sku,product_name,price\nA,First,x\nA,Second,y\nA,Third,3\nA,Fourth,z\n';
    const { feedId } = await service.api.loadFeed(csv, 'Order');
    const { page } = await issuesOf(feedId);
    await fillCell(page, 'price', 3, '2');
    await fillCell(page, 'price', 2, '1');
    await sendMended(page);
    await runNow(page);

    expect(await pricesOf('Order')).toEqual({ A: 2 });
  });
});

describe('edits', () => {
  const csv = 'sku,product_name,price\nA,Tent,x\nB,Lamp,2\n';

  it('survive a reload and a rejection, until the mended rows are stored', async () => {
    const { feedId } = await service.api.loadFeed(csv, 'Kept');
    const { page } = await issuesOf(feedId);
    await fillCell(page, 'price', 2, '1');
    await page.reload();
    await page.getByText('1 cell changed').waitFor();
    const detail = 'The API key is read-only.';
    await page.route('**/feeds/upload', (route) => route.fulfill({ status: 403, json: { detail } }));
    await button(page, 'Send the mended rows').click();
    await page.getByRole('alert').getByText(detail).waitFor();

    await page.unrouteAll();
    await page.reload();
    expect(await mendCell(page, 'price', 2).textContent()).toBe('1');
    await sendMended(page);
    await page.goBack();
    await page.getByText('0 cells changed').waitFor();
    expect(await mendCell(page, 'price', 2).textContent()).toBe('x');
  });

  it('are discarded with a notice when the feed is run again, and send nothing', async () => {
    const { feedId, jobId } = await service.api.loadFeed(csv, 'Again');
    const { page, complaints } = await issuesOf(feedId);
    await fillCell(page, 'price', 2, '1');
    await page.getByText('1 cell changed').waitFor();
    await service.api.post(`/jobs/${jobId}/run`);
    await button(page, 'Send the mended rows').click();

    await page.getByRole('status').getByText('This feed was run again.').waitFor();
    expect(await mendCell(page, 'price', 2).textContent()).toBe('x');
    expect(await feedsOf('Again')).toBe(1);
    expect(await findFaults(page)).toEqual([]);

    // The same after a reload.
    await fillCell(page, 'price', 2, '1');
    await service.api.post(`/jobs/${jobId}/run`);
    await page.reload();
    await page.getByRole('status').getByText('This feed was run again.').waitFor();
    expect(await mendCell(page, 'price', 2).textContent()).toBe('x');
    expect(complaints).toEqual([]);
  });
});

describe('a notice', () => {
  const columns = { sku: { from: ['sku'] }, product_name: { from: ['name'] }, price: { from: ['price'] } };

  it('reports, before mended rows are sent, that their format was saved again since, or was deleted', async () => {
    const path = '/partners/Reread/formats/list';
    await service.api.put(path, { columns, decimal_separator: '.' });
    const { feedId } = await service.api.loadFeed('sku,name,price\nA,Tent,"1,x"\n', 'Reread', {
      format: 'list',
    });
    const { page, complaints } = await issuesOf(feedId);
    await mendCell(page, 'price', 2).waitFor();
    expect(await page.getByText('The format list').count()).toBe(0);

    await service.api.put(path, { columns, decimal_separator: ',' });
    await page.reload();
    await page.getByRole('status').getByText('The format list was saved again').waitFor();
    await fillCell(page, 'price', 2, '1,50');
    await sendMended(page);
    await runNow(page);
    expect(await pricesOf('Reread')).toEqual({ A: 1.5 });

    await service.api.send('DELETE', path);
    await goToView(page, `/feeds/${feedId}/issues`);
    await page.getByRole('status').getByText('Save a format with this name first').waitFor();
    expect(await findFaults(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('reports that changes were discarded, also when the new run has skipped no row', async () => {
    const [first, second] = await Promise.all(
      ['Emptied', 'Emptied 2'].map((partner) =>
        service.api.loadFeed('sku,price\nA,1\n', partner, { mode: 'update' }),
      ),
    );
    const { page } = await issuesOf(first!.feedId);
    const rerun = async ({ jobId, feedId }: { jobId: string; feedId: string }) => {
      const { partner_name } = (await service.api.get(`/feeds/${feedId}`)).body as { partner_name: string };
      await service.api.loadFeed('sku,product_name\nA,Tent\n', partner_name);
      await service.api.post(`/jobs/${jobId}/run`);
    };
    await fillCell(page, 'sku', 2, 'B');
    await page.getByText('1 cell changed').waitFor();
    await rerun(first!);
    await button(page, 'Send the mended rows').click();
    await page.getByRole('status').getByText('This feed was run again.').waitFor();
    await grid(page).waitFor({ state: 'hidden' });

    // The same after a reload.
    await goToView(page, `/feeds/${second!.feedId}/issues`);
    await fillCell(page, 'sku', 2, 'B');
    await page.getByText('1 cell changed').waitFor();
    await rerun(second!);
    await page.reload();
    await page.getByRole('status').getByText('This feed was run again.').waitFor();
  });

  it('explains why a download has failed', async () => {
    const { feedId } = await service.api.loadFeed('sku,product_name,price\nA,Tent,x\n', 'Failing');
    const { page } = await issuesOf(feedId);
    const failing = async (view: string, url: string, name: string) => {
      await goToView(page, view);
      await button(page, name).waitFor();
      if (url.includes('rejects')) await mendCell(page, 'price', 2).waitFor();
      const detail = `Not now: ${url}`;
      await page.route(url, (route) => route.fulfill({ status: 409, json: { detail } }));
      await button(page, name).click();
      await page.getByRole('alert').getByText(detail).waitFor();
      await page.unrouteAll();
    };

    await failing(`/feeds/${feedId}/issues`, '**/rejects.csv', 'Download the skipped rows');
    await failing(`/feeds/${feedId}/runs`, '**/raw', 'Download the file');
    await failing('/partners/Failing', '**/products.csv', 'Download its products');
  });
});

describe('rejects of any kind', () => {
  const ours = (header: boolean) =>
    Object.fromEntries(
      ['sku', 'product_name', 'price'].map((name, at) => [
        name,
        header ? { from: [name] } : { position: at + 1 },
      ]),
    );

  it.each([
    {
      kind: 'bare quotes and text behind a closing quote',
      csv: 'sku,product_name,price\nA,12" wide,x\nB,"Tent" for two,2\n',
      edits: [
        ['price', 2, '1'],
        ['product_name', 3, 'Tent "for" two'],
      ],
      loaded: { A: ['12" wide', 1], B: ['Tent "for" two', 2] },
    },
    {
      kind: 'a row with too many cells, and one with too few',
      csv: 'sku,product_name,price\nA,Tent, red,1\nB\n',
      edits: [
        ['product_name', 2, 'Tent, red'],
        ['price', 2, '1'],
        ['4', 2, ''],
        ['product_name', 3, 'Lamp'],
      ],
      loaded: { A: ['Tent, red', 1], B: ['Lamp', undefined] },
    },
    {
      kind: 'another encoding and delimiter, and lines before the header',
      definition: {
        delimiter: ';',
        encoding: 'windows-1252',
        skip_lines: 2,
        decimal_separator: ',',
        columns: ours(true),
      },
      csv: 'Preisliste\n\nsku;product_name;price\nÄ-1;"Öse;\nlang";x\n',
      edits: [['price', 4, '1,50']],
      loaded: { 'Ä-1': ['Öse;\nlang', 1.5] },
    },
    {
      kind: 'no header row',
      definition: { delimiter: '|', header: false, columns: ours(false) },
      csv: 'A|Tent|x\nB|Lamp|2\n',
      edits: [['3', 1, '1']],
      loaded: { A: ['Tent', 1], B: ['Lamp', 2] },
    },
    {
      kind: 'cells that were filled down',
      definition: {
        columns: {
          sku: { from: ['sku'] },
          product_name: { join: ['title', 'size'], with: ' ' },
          price: { from: ['price'] },
        },
        fill_down: [{ column: 'product_name', by: 'handle' }],
      },
      csv: 'handle,title,size,sku,price\nm,Mug,S,M-S,1\nm,,L,M-L,x\nm,,XL,M-XL,3\n"c"x,Cup,S,C-S,1\nc,,L,C-L,2\n',
      edits: [
        ['price', 3, '2'],
        ['handle', 5, 'c'],
        ['title', 6, 'Big cup'],
      ],
      loaded: {
        'M-S': ['Mug S', 1],
        'M-L': ['Mug L', 2],
        'M-XL': ['Mug XL', 3],
        'C-S': ['Cup S', 1],
        'C-L': ['Big cup L', 2],
      },
    },
  ])('load the displayed values: $kind', async ({ kind, csv, definition, edits, loaded }) => {
    const partner = `Any ${kind.replace(/\W+/g, ' ')}`;
    if (definition) await service.api.put(`/partners/${encodeURIComponent(partner)}/formats/f`, definition);
    const bytes = Buffer.from(csv, definition?.encoding ? 'latin1' : 'utf8');
    const fields: Record<string, string> = definition ? { format: 'f' } : {};
    const { feedId } = await service.api.loadFeed(bytes, partner, fields);
    const { page } = await issuesOf(feedId);
    for (const [column, line, value] of edits as [string, number, string][]) {
      await fillCell(page, column, line, value);
      await page.reload();
    }
    await sendMended(page);
    await runNow(page);

    const path = `/products?partner_name=${encodeURIComponent(partner)}`;
    const { items } = (await service.api.get(path)).body as {
      items: { sku: string; product_name: string; price: number | null }[];
    };
    expect(
      Object.fromEntries(items.map(({ sku, product_name, price }) => [sku, [product_name, price]])),
    ).toEqual(loaded);
  });
});

describe('thousands of issues', () => {
  it('have their messages and marked cells in every row, and are filtered over all rows', async () => {
    const rows = Array.from({ length: 10_500 }, (_, at) => `S-${at},Product ${at},x\n`).join('');
    const { feedId } = await service.api.loadFeed(
      `sku,product_name,price\n${rows}N-1,,1\nN-2,,y\n`,
      'Thousands',
    );
    const { page, requested } = await issuesOf(feedId, '?page=211');
    const last = page.getByRole('row').filter({ hasText: '10503' });
    for (const [column, reason] of [
      ['product_name', 'product_name is required'],
      ['price', 'price has no digits'],
    ] as const) {
      await mendCell(page, column, 10_503).focus();
      await mendCell(page, column, 10_503).click();
      await page.keyboard.press('Escape');
      await page.getByText(reason).first().waitFor();
    }
    await last.waitFor();
    for (const column of ['product_name', 'price'])
      expect(await mendCell(page, column, 10_503).getAttribute('aria-invalid')).toBe('true');
    expect(await mendCell(page, 'price', 10_502).getAttribute('aria-invalid')).toBe('false');

    await page.getByRole('button', { name: /A required cell is empty/ }).click();
    await mendCell(page, 'product_name', 10_501).waitFor({ state: 'hidden' });
    await mendCell(page, 'product_name', 10_502).waitFor();
    expect(await grid(page).locator('tbody tr').count()).toBe(2);
    await fillCell(page, 'product_name', 10_502, 'Named');
    await sendMended(page);
    await runNow(page);
    expect(await pricesOf('Thousands')).toEqual({ 'N-1': 1 });
    expect(requested.filter((url) => url.includes('/issues?')).length).toBeLessThan(3);
  });

  it('that are warnings are loaded page by page, and by code', async () => {
    const rows = Array.from({ length: 1_100 }, (_, at) => `S-${at},Product ${at},0,\n`).join('');
    const { feedId } = await service.api.loadFeed(
      `sku,product_name,price,availability\n${rows}L,Late,1,ask us\n`,
      'Warned',
    );
    const { page } = await issuesOf(feedId);
    const remarks = page.getByRole('region', { name: 'Warnings' }).locator('tbody tr');
    await remarks.first().waitFor();
    while (await button(page, 'Show more').isVisible()) {
      const before = await remarks.count();
      await button(page, 'Show more').click();
      await remarks.nth(before).waitFor();
    }
    expect(await remarks.count()).toBe(1_101);

    await page.reload();
    await page.getByRole('button', { name: /Unknown availability/ }).click();
    await page.getByText('ask us').waitFor();
    expect(await remarks.count()).toBe(1);
  });
});
