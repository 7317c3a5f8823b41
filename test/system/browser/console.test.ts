import type { BrowserContext, Page } from 'playwright-core';
import { findFaults, openPage, startBrowser } from '../../support/browser';
import { chooseFile, dropFile, enterKey, openConsole } from '../../support/console';
import { fillCell, mendCell } from '../../support/mending';
import { startUsedService, type ServiceProcess } from '../../support/process';

let service: ServiceProcess;
let browser: BrowserContext;
beforeAll(async () => {
  browser = await startBrowser();
  service = await startUsedService();
});

const address = (path: string) => `${service.url!}/console${path}`;

const open = (path: string) => openConsole(browser, { url: service.url!, key: service.key! }, path);

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

/** Drops a file for a partner, and waits until it has been inspected. */
async function dropFeed(page: Page, partner: string, name: string, content: string): Promise<void> {
  await dropFile(page, partner, name, content);
  await page.getByRole('heading', { name, exact: true }).waitFor();
}

const germanFeed = [
  'Artikelnr;Bezeichnung;Marke;Preis;Währung',
  'ZELT-2;Zweimannzelt;Nordwind;189,90;EUR',
  'LAMPE-1;Stirnlampe;Nordwind;ab 24,50;EUR',
  'KOCHER-1;;Nordwind;49,00;EUR',
].join('\n');

describe('the steps of a partner', () => {
  it('leads from a dropped file to zero issues, and survives a reload at each step', async () => {
    const { page, requested, complaints } = await open('/send');
    await dropFeed(page, 'Nordwind', 'artikel.csv', germanFeed);

    // The detected format.
    await page.reload();
    expect(await page.getByRole('combobox', { name: 'SKU' }).inputValue()).toBe('from:Artikelnr');
    expect(await page.getByText('semicolons').count()).toBe(1);
    const sample = page.getByRole('region', { name: 'First rows as products' });
    expect(await sample.locator('tbody tr').first().innerText()).toContain('189.90');

    // Its mapping, changed: the brand is another column.
    await page.getByRole('combobox', { name: 'Description' }).selectOption('Marke');
    await sample.locator('tbody tr').first().getByText('Nordwind').nth(1).waitFor();
    await page.getByLabel('Save as format').fill('artikel');
    await button(page, 'Store the file and preview').click();

    const plan = page.getByRole('region', { name: 'Preview of the run' });
    await plan.getByText('Zweimannzelt').waitFor();
    await page.reload();
    await plan.getByText('Zweimannzelt').waitFor();
    await button(page, 'New 1').click();
    expect(await plan.locator('tbody tr').innerText()).toMatch(
      /Zweimannzelt\s+ZELT-2\s+Nordwind\s+€189\.90\s+Nordwind/,
    );
    expect(new URL(page.url()).search).toBe('?action=insert');
    await button(page, 'Run now').click();

    // Counts, and issues with explanations.
    await page.getByText('2 rows were skipped.').waitFor();
    await page.reload();
    await page.getByRole('link', { name: 'See why, and mend them' }).click();
    await page.getByText('The price cannot be read').first().waitFor();
    const price = mendCell(page, 'Preis', 3);
    const name = mendCell(page, 'Bezeichnung', 4);
    expect(await price.textContent()).toBe('ab 24,50');
    for (const cell of [price, name]) expect(await cell.getAttribute('aria-invalid')).toBe('true');
    expect(await page.locator('[aria-invalid=true]').count()).toBe(2);

    // Mended in place.
    await fillCell(page, 'Preis', 3, '29,90');
    await fillCell(page, 'Bezeichnung', 4, 'Gaskocher');
    await page.reload();
    expect(await price.textContent()).toBe('29,90');
    await button(page, 'Send the mended rows').click();
    await button(page, 'Run now').click();
    await page.getByText('Every row was loaded. There is nothing to mend.').waitFor();
    await page.getByRole('link', { name: 'Issues' }).click();
    await page.getByRole('heading', { name: 'Zero issues' }).waitFor();

    const { body } = await service.api.get('/products?partner_name=Nordwind&sort_by=price&order=asc');
    expect(body.items.map((item: Record<string, unknown>) => [item.sku, item.price])).toEqual([
      ['LAMPE-1', 29.9],
      ['KOCHER-1', 49],
      ['ZELT-2', 189.9],
    ]);
    expect(complaints).toEqual([]);
    // The key is in no address, and no other host gets a request.
    expect(requested.filter((url) => url.includes(service.key!))).toEqual([]);
    const others = requested.filter((url) => !url.startsWith(`${service.url!}/`) && url !== 'data:,');
    expect(others).toEqual([]);
  });

  it('asks about ambiguities of the file, and stores nothing before they are answered', async () => {
    const { page, complaints } = await open('/send');
    await dropFeed(page, 'Ostwind', 'preise.csv', 'Artikelnr;Bezeichnung;EK;UVP\nA-1;Zelt;4,10;9,99');
    await page.getByText('Answer the questions about the file.').waitFor();
    expect(await button(page, 'Store the file and preview').isDisabled()).toBe(true);

    await page.getByRole('radio', { name: 'The price is "UVP"' }).check();
    await page.getByRole('radio', { name: 'All prices are in one currency' }).check();
    await page.getByLabel('Its value').fill('EUR');
    const sample = page.getByRole('region', { name: /^First rows/ });
    await sample.getByText('9.99').waitFor();
    await button(page, 'Store the file and preview').click();

    const plan = page.getByRole('region', { name: 'Preview of the run' });
    await plan.getByText('9.99').waitFor();
    expect(complaints).toEqual([]);
  });

  it('accepts pasted rows, and reports missing input first', async () => {
    const { page, complaints } = await open('/send');
    await button(page, 'Check the rows').click();
    await page.getByText('Paste some rows first').waitFor();
    await page.getByLabel('Or paste rows').fill('sku,product_name\nA-1,Tent\n');
    await page.getByLabel('Partner', { exact: true }).fill('Pasted');
    await button(page, 'Check the rows').click();

    await page.getByText('pasted.csv').waitFor();
    expect(await page.getByRole('region', { name: 'First rows' }).innerText()).toContain('Tent');
    expect(complaints).toEqual([]);
  });

  it('shows instructions for a file that is not a table', async () => {
    const { page } = await open('/send');
    await chooseFile(page, 'Nordwind', 'products.csv', '{"products": []}');

    const alert = page.getByRole('alert');
    await alert.getByText('This file cannot be read as a table').waitFor();
    expect(await findFaults(page)).toEqual([]);
    await alert.getByRole('link', { name: 'Choose a file' }).click();
    await page.getByRole('heading', { name: 'Send a feed' }).waitFor();
  });

  it('mends rows of a file in another encoding, line breaks included', async () => {
    const csv = 'sku;product_name;description;price\nB-1;Bügel;"zwei\nZeilen";1.299,5x\nB-2;Öse;;2,50\n';
    const fields = { format: 'excel-eu' };
    const upload = await service.api.upload({
      partnerName: 'Süd',
      csv: Buffer.from(csv, 'latin1'),
      fields,
    });
    await service.api.post(`/jobs/${upload.body.validation_job_id}/run`);
    const { page } = await open(`/feeds/${upload.body.feed_id}/issues`);
    const price = mendCell(page, 'price', 2);
    expect(await price.textContent()).toBe('1.299,5x');
    const description = mendCell(page, 'description', 2);
    expect(await description.textContent()).toBe('zwei\nZeilen');
    await fillCell(page, 'description', 2, 'zwei\ngeänderte Zeilen');
    await fillCell(page, 'price', 2, '1.299,50');
    await button(page, 'Send the mended rows').click();
    await button(page, 'Run now').click();
    await page.getByText('Every row was loaded, some with a warning.').waitFor();

    const { body } = await service.api.get('/products?partner_name=S%C3%BCd&sku=B-1');
    expect(body.items[0]).toMatchObject({
      product_name: 'Bügel',
      description: 'zwei\ngeänderte Zeilen',
      price: 1299.5,
    });
  });

  it('loads a superseded row after it is edited, also from rejects of rejects', async () => {
    const csv = 'sku,product_name,price\nA-1,Tent,5\nA-1,Tent,7\n';
    const first = await service.api.uploadFeed(csv, 'Wester');
    await service.api.post(`/jobs/${first.jobId}/run`);
    const rejects = await service.api.get(`/jobs/${first.jobId}/rejects.csv`);
    const second = await service.api.uploadFeed(rejects.body, 'Wester');
    await service.api.post(`/jobs/${second.jobId}/run`);
    const { page } = await open(`/feeds/${second.feedId}/issues`);

    await fillCell(page, 'price', 2, '6');
    await button(page, 'Send the mended rows').click();
    await button(page, 'Run now').click();
    await page.getByText('Every row was loaded. There is nothing to mend.').waitFor();

    const { body } = await service.api.get('/products?partner_name=Wester');
    expect(body.items).toMatchObject([{ sku: 'A-1', price: 6 }]);
  });

  it('shows the progress of a run, and cancels it', async () => {
    const { jobId, feedId } = await service.api.uploadFeed('sku,product_name\nS-1,Slow\n', 'Slow');
    const { page } = await openPage(browser);
    const job = (await service.api.get(`/jobs/${jobId}`)).body;
    const progress = {
      phase: 'comparing',
      rows: 40_000,
      bytes_read: 400,
      bytes_total: 1000,
      rows_per_second: 20_000,
      bytes_per_second: 1,
    };
    await page.route(`**/jobs/${jobId}`, (route) =>
      route.fulfill({ json: { ...job, status: 'running', progress } }),
    );
    const cancelled = page.waitForRequest((request) => request.url().endsWith(`/jobs/${jobId}/cancel`));
    await page.goto(address(`/feeds/${feedId}/run`));
    await enterKey(page, service.key!);

    const bar = page.getByRole('progressbar', { name: 'Comparing with the catalog' });
    await bar.waitFor();
    expect(await bar.getAttribute('aria-valuenow')).toBe('40');
    await page.getByText('40,000 rows, 20,000 per second').waitFor();
    await button(page, 'Cancel the run').click();
    expect((await cancelled).method()).toBe('POST');
  });

  it('asks before more products are withdrawn than usual', async () => {
    const rows = Array.from({ length: 12 }, (_, row) => `W-${row},Product ${row}\n`).join('');
    await service.api.loadFeed(`sku,product_name\n${rows}`, 'Withdrawing');
    const fields = { mode: 'replace' };
    const { feedId } = await service.api.uploadFeed(
      'sku,product_name\nW-0,Product 0\n',
      'Withdrawing',
      fields,
    );
    const { page } = await open(`/feeds/${feedId}/run`);

    await button(page, 'Run now').click();
    await page.getByText('This run would withdraw 11 of 12 products, more than usual.').waitFor();
    await page.getByRole('link', { name: 'Preview, then run again' }).click();
    await page.getByText('This run would withdraw 11 of 12 products, more than usual.').waitFor();
    expect(await findFaults(page)).toEqual([]);
    expect(await page.locator('main').innerText()).not.toContain('max_withdrawn');
    await button(page, 'Preview a run that withdraws 11 products').click();
    const plan = page.getByRole('region', { name: 'Preview of the run' });
    await plan.getByText('W-11').waitFor();
    await page.reload();
    await button(page, 'Run again').click();
    const dialog = page.getByRole('dialog', { name: 'Withdraw 11 products?' });
    await dialog.waitFor();
    expect(await findFaults(page)).toEqual([]);
    expect((await service.api.get('/products?partner_name=Withdrawing&limit=20')).body.count).toBe(12);
    await dialog.getByRole('button', { name: 'Run again' }).click();

    await page.getByText('The run is complete').waitFor();
    expect((await service.api.get('/products?partner_name=Withdrawing')).body.count).toBe(1);
  });
});

describe('the API key', () => {
  it('is kept for the tab only, and forgotten when the service rejects it', async () => {
    const { page } = await openPage(browser);
    await page.goto(address('/catalog'));
    await enterKey(page, 'a-wrong-key');

    await page.getByText('This key is missing or unknown').waitFor();
    expect(await page.evaluate('sessionStorage.length + localStorage.length')).toBe(0);
    expect(await findFaults(page)).toEqual([]);
    expect(page.url()).toBe(address('/catalog'));

    await enterKey(page, service.key!);
    await page.getByRole('heading', { name: 'Catalog' }).waitFor();
    // The focus follows to the view, whose code is loaded after the key was accepted.
    await page.locator('h1:focus', { hasText: 'Catalog' }).waitFor();
    expect(await page.evaluate('localStorage.length')).toBe(0);
    expect(await page.evaluate('document.cookie')).toBe('');
  });
});

describe('a hostile feed', () => {
  const turned = 'abc\u202egnp.exe';
  const markup = '<img src=x onerror="alert(1)"><script>alert(2)</script>';
  const csv = `sku,product_name,brand,price\nH-1,"${markup.replaceAll('"', '""')}",=HYPERLINK(1),5\nH-2,${turned},"<b>",x\n`;
  const partner = '=cmd()<i>';

  it('is shown unchanged, with its invisible characters named', async () => {
    const { jobId, feedId } = await service.api.loadFeed(csv, partner);
    expect(jobId).toBeDefined();
    const { page, complaints } = await open(`/feeds/${feedId}/issues`);
    await mendCell(page, 'price', 3).waitFor();

    await page.goto(address(`/catalog?partner=${encodeURIComponent(partner)}`));
    await page.getByRole('link', { name: markup }).click();
    await page.getByRole('heading', { name: markup }).waitFor();
    await page.locator('.record').waitFor();
    await page.goto(address(`/partners/${encodeURIComponent(partner)}`));
    await page.getByRole('heading', { name: partner }).waitFor();

    await page.goto(address('/send'));
    const file = { name: `${turned}.csv`, shownName: 'abcU+202Egnp.exe.csv' };
    await chooseFile(page, partner, file, `sku,product_name\nH-3,${turned}\n`);
    const row = page.getByRole('region', { name: 'First rows' }).locator('tbody tr');
    expect(await row.first().innerText()).toContain('U+202E');
    expect(await page.locator('main img, main script, main b').count()).toBe(0);
    expect(complaints).toEqual([]);
  });
});
