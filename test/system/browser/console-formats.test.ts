import type { BrowserContext, Page } from 'playwright-core';
import { findFaults, startBrowser } from '../../support/browser';
import { chooseFile, goToView, openConsole } from '../../support/console';
import { putFormat } from '../../support/format-requests';
import { startTestService, testKey, type TestService } from '../../support/service';

let service: TestService;
let browser: BrowserContext;
beforeAll(async () => {
  browser = await startBrowser();
  service = await startTestService();
});

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const open = (path: string) => openConsole(browser, { url: service.url, key: testKey }, path);
const partnerField = (page: Page) => page.getByLabel('Partner', { exact: true });

describe('the field of a partner', () => {
  beforeAll(async () => {
    for (let at = 10; at < 35; at++)
      await service.api.uploadFeed('sku,product_name\nA-1,Tent\n', `Partner ${at}`);
    // With a product: the filters of an empty catalog are hidden.
    await service.api.loadFeed('sku,product_name\nA-1,Tent\n', 'Zeltladen');
  });

  it('suggests partners by typed text, in each view that has it', async () => {
    const { page, complaints } = await open('/send');
    for (const path of ['/send', '/sources/new', '/sources', '/feeds', '/catalog']) {
      await goToView(page, path);
      await partnerField(page).fill('zelt');
      // The list of suggestions is a control of the platform, which is not visible to Playwright.
      await page.locator('datalist option[value=Zeltladen]').waitFor({ state: 'attached' });
      expect(await page.locator('datalist option[value^=Partner]').count()).toBe(0);
      await partnerField(page).fill('');
    }
    expect(complaints).toEqual([]);
  });
});

describe('a file that is selected before its partner', () => {
  const feed = {
    name: 'feed.csv',
    mimeType: 'text/csv',
    buffer: Buffer.from('sku,product_name\nA-1,Tent\n'),
  };

  it('is kept until the partner is entered, also by a reload', async () => {
    const { page } = await open('/send');
    await page.setInputFiles('input[type=file]', feed);
    await page.getByText('Enter the name of the partner first.').waitFor();
    await page.getByText('feed.csv').waitFor();
    expect(await findFaults(page)).toEqual([]);
    await page.reload();
    await page.getByText('feed.csv').waitFor();

    await partnerField(page).fill('Latecomer');
    await button(page, 'Check this file').click();
    await page.getByRole('heading', { name: 'feed.csv' }).waitFor();
    await button(page, 'Store the file and preview').click();
    await page.getByRole('region', { name: 'Preview of the run' }).getByText('Tent').waitFor();
    expect((await service.api.get('/feeds?partner_name=Latecomer')).body.items).toMatchObject([
      { file_name: 'feed.csv' },
    ]);
  });

  it('is kept when it was pasted, and when the service rejects the name of the partner', async () => {
    const { page } = await open('/send');
    await page.getByLabel('Or paste rows').fill('sku,product_name\nA-1,Tent\n');
    await button(page, 'Check the rows').click();
    await page.getByText('Enter the name of the partner first.').waitFor();
    await partnerField(page).fill('x'.repeat(256));
    await button(page, 'Check this file').click();
    await page.getByRole('alert').waitFor();
    await page.getByRole('link', { name: 'Back' }).click();

    await page.getByText('pasted.csv').waitFor();
    await partnerField(page).fill('Pasted late');
    await button(page, 'Check this file').click();
    await page.getByRole('region', { name: 'First rows' }).getByText('Tent').waitFor();
  });
});

const howToRead = (page: Page) => page.getByRole('combobox', { name: 'How to read it' });
const priceColumn = (page: Page) => page.getByRole('combobox', { name: 'Price' });
const firstProduct = (page: Page) =>
  page.getByRole('region', { name: 'First rows as products' }).locator('tbody tr').first();

/** The partner's own formats: definitions by name. */
async function formatsOf(partner: string): Promise<Record<string, unknown>> {
  const { body } = await service.api.get(`/formats?partner_name=${encodeURIComponent(partner)}`);
  const items = body.items as { format_name: string; definition: unknown }[];
  return Object.fromEntries(items.map((format) => [format.format_name, format.definition]));
}

/** Stores the file and runs it. @returns sku, price and currency of the partner's products, by name */
async function storeAndRun(page: Page, partner: string): Promise<unknown[]> {
  await button(page, 'Store the file and preview').click();
  await page.getByRole('button', { name: 'Run now' }).waitFor();
  const of = `partner_name=${encodeURIComponent(partner)}`;
  const { body: feeds } = await service.api.get(`/feeds?${of}&limit=1`);
  await service.api.post(`/jobs/${feeds.items[0].validation_job_id}/run`);
  const { body } = await service.api.get(`/products?${of}&sort_by=product_name&order=asc`);
  const items = body.items as Record<string, unknown>[];
  return items.map(({ sku, price, currency }) => [sku, price, currency]);
}

const german = 'Artikelnr;Bezeichnung;EK-Preis;VK-Preis;Währung\nZ-1;Zelt;4,10;9,99;EUR\n';
/** The format that the console suggests, with another price column. */
const corrected = {
  delimiter: ';',
  decimal_separator: ',',
  columns: {
    sku: { from: ['Artikelnr'] },
    product_name: { from: ['Bezeichnung'] },
    price: { from: ['EK-Preis'] },
    currency: { from: ['Währung'] },
  },
};

describe('a saved format', () => {
  it('reads the file of the next day as it was corrected, and is not changed', async () => {
    const { page, complaints } = await open('/send');
    await chooseFile(page, 'Nextday', 'day-1.csv', german);
    expect(await page.getByRole('combobox', { name: 'Decimals' }).inputValue()).toBe(',');
    await priceColumn(page).selectOption('EK-Preis');
    await firstProduct(page).getByText('4.10').waitFor();
    const priceRow = page.getByRole('region', { name: 'Columns' }).getByRole('row', { name: 'Price' });
    await priceRow.getByText('4.10', { exact: true }).waitFor();
    await page.getByText('Not used: VK-Preis').waitFor();
    expect(await findFaults(page)).toEqual([]);
    expect(await storeAndRun(page, 'Nextday')).toEqual([['Z-1', 4.1, 'EUR']]);
    const saved = await formatsOf('Nextday');
    expect(saved).toMatchObject({ default: { columns: { price: { from: ['EK-Preis'] } } } });

    await goToView(page, '/send');
    await chooseFile(page, 'Nextday', 'day-2.csv', german.replace('4,10', '5,20'));
    expect(await howToRead(page).inputValue()).toBe('default');
    await firstProduct(page).getByText('5.20').waitFor();
    expect(await priceColumn(page).inputValue()).toBe('from:EK-Preis');
    expect(await page.getByLabel('Save as format').count()).toBe(0);
    expect(await storeAndRun(page, 'Nextday')).toEqual([['Z-1', 5.2, 'EUR']]);
    expect(await formatsOf('Nextday')).toEqual(saved);
    expect(complaints).toEqual([]);
  });

  it('is the format of the last feed if the partner has no default one', async () => {
    await putFormat(service.api, 'Lastday', 'weekly', corrected);
    await putFormat(service.api, 'Lastday', 'another', { ...corrected, null_values: ['-'] });
    await service.api.uploadFeed(german, 'Lastday', { format: 'weekly' });
    const { page } = await open('/send');
    await chooseFile(page, 'Lastday', 'feed.csv', german);

    expect(await howToRead(page).inputValue()).toBe('weekly');
    await firstProduct(page).getByText('4.10').waitFor();
  });

  it('reads a file without header row, which no other format could read', async () => {
    const columns = { sku: { position: 1 }, product_name: { position: 2 }, price: { position: 3 } };
    const definition = { delimiter: ';', header: false, decimal_separator: ',', columns };
    await putFormat(service.api, 'Headerless', 'default', definition);
    const { page } = await open('/send');
    await chooseFile(page, 'Headerless', 'feed.csv', 'Z-1;Zelt;4,10\nL-1;Lampe;9,99\n');

    expect(await howToRead(page).inputValue()).toBe('default');
    expect(await priceColumn(page).inputValue()).toBe('position:3');
    await firstProduct(page).getByText('4.10').waitFor();
    expect(await storeAndRun(page, 'Headerless')).toEqual([
      ['L-1', 9.99, undefined],
      ['Z-1', 4.1, undefined],
    ]);
  });

  it('is replaced only after a question that lists the changes', async () => {
    await putFormat(service.api, 'Asked', 'default', corrected);
    const { page } = await open('/send');
    await chooseFile(page, 'Asked', 'feed.csv', german);
    await priceColumn(page).selectOption('VK-Preis');
    await firstProduct(page).getByText('9.99').waitFor();
    await button(page, 'Store the file and preview').click();
    const dialog = page.getByRole('dialog', { name: 'Replace the format default?' });
    const change = dialog.locator('tbody').locator('th, td');
    expect(await change.allInnerTexts()).toEqual(['Price', 'EK-Preis', 'VK-Preis']);
    expect(await findFaults(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Close' }).click();
    expect(await formatsOf('Asked')).toEqual({ default: corrected });
    expect((await service.api.get('/feeds?partner_name=Asked')).body.count).toBe(0);

    await button(page, 'Store the file and preview').click();
    await dialog.getByRole('button', { name: 'Replace it' }).click();
    await page.getByRole('region', { name: 'Preview of the run' }).getByText('9.99').waitFor();
    const columns = { ...corrected.columns, price: { from: ['VK-Preis'] } };
    expect(await formatsOf('Asked')).toEqual({ default: { ...corrected, columns } });
  });

  it.each([
    ['the service refuses the file', 413],
    ['the service refuses the form', 422],
    ['the key may only read', 403],
    ['the connection is lost', 0],
  ])('is unchanged when %s', async (_, status) => {
    const partner = `Unsent ${status}`;
    await putFormat(service.api, partner, 'default', corrected);
    const { page, requested } = await open('/send');
    await chooseFile(page, partner, 'feed.csv', german);
    await priceColumn(page).selectOption('VK-Preis');
    await page.route('**/feeds/upload', (route) =>
      status === 0 ? route.abort() : route.fulfill({ status, json: { detail: 'Refused.' } }),
    );
    await button(page, 'Store the file and preview').click();
    await button(page, 'Replace it').click();
    await page.getByRole('alert').waitFor();

    expect(await formatsOf(partner)).toEqual({ default: corrected });
    // Only the upload writes.
    expect(requested.filter((url) => url.includes('/partners/'))).toEqual([]);
  });

  it('is replaced once, with one feed, when the response to the upload is lost', async () => {
    await putFormat(service.api, 'Answered', 'default', corrected);
    const { page } = await open('/send');
    await chooseFile(page, 'Answered', 'feed.csv', german);
    await priceColumn(page).selectOption('VK-Preis');
    await page.route('**/feeds/upload', async (route) => {
      await route.fetch();
      await route.abort();
    });
    await button(page, 'Store the file and preview').click();
    await button(page, 'Replace it').click();
    await page.getByRole('alert').waitFor();
    await page.unroute('**/feeds/upload');
    await button(page, 'Try again').click();
    await page.getByRole('region', { name: 'Preview of the run' }).getByText('9.99').waitFor();

    expect((await service.api.get('/feeds?partner_name=Answered')).body.count).toBe(1);
    expect(await formatsOf('Answered')).toMatchObject({
      default: { columns: { price: { from: ['VK-Preis'] } } },
    });
  });

  it.each(['', 'Default', 'default '])(
    'is not replaced by a format without a valid name: %j',
    async (name) => {
      const partner = `Unnamed ${name.length}${name.slice(0, 1)}`;
      await putFormat(service.api, partner, 'default', corrected);
      const { page } = await open('/send');
      await chooseFile(page, partner, 'feed.csv', german);
      await priceColumn(page).selectOption('VK-Preis');
      await page.getByLabel('Save as format').fill(name);

      await page.getByText('Enter 1 to 64 lower-case letters, digits or hyphens.').waitFor();
      expect(await button(page, 'Store the file and preview').isDisabled()).toBe(true);
      expect(await findFaults(page)).toEqual([]);
      await page.getByLabel('Save as format').fill('other');
      await firstProduct(page).getByText('9.99').waitFor();
      expect(await storeAndRun(page, partner)).toEqual([['Z-1', 9.99, 'EUR']]);
      expect(await formatsOf(partner)).toMatchObject({ default: corrected, other: {} });
    },
  );

  it('cannot have the name of a built-in one', async () => {
    const { page } = await open('/send');
    await chooseFile(page, 'Reserved', 'feed.csv', german);
    await page.getByLabel('Save as format').fill('shopify');

    await page.getByText('A built-in format has this name. Choose another one.').waitFor();
    expect(await button(page, 'Store the file and preview').isDisabled()).toBe(true);
  });

  it.each([
    ['is the one that was shown', 503, corrected, 0],
    ['is changed meanwhile', 503, { ...corrected, null_values: ['-'] }, 1],
    ['is changed meanwhile, and no answer came', 0, { ...corrected, null_values: ['-'] }, 1],
  ])('is asked about again only if needed, when it %s: %i', async (_, status, meanwhile, questions) => {
    const partner = `Again ${status} ${questions}`;
    await putFormat(service.api, partner, 'default', corrected);
    const { page } = await open('/send');
    await chooseFile(page, partner, 'feed.csv', german);
    await priceColumn(page).selectOption('VK-Preis');
    await page.route('**/feeds/upload', (route) =>
      status === 0 ? route.abort() : route.fulfill({ status, json: { detail: 'Busy.' } }),
    );
    await button(page, 'Store the file and preview').click();
    await button(page, 'Replace it').click();
    await page.getByRole('alert').waitFor();
    await page.unroute('**/feeds/upload');
    await putFormat(service.api, partner, 'default', meanwhile);
    await button(page, 'Try again').click();

    const dialog = page.getByRole('dialog', { name: 'Replace the format default?' });
    const plan = page.getByRole('region', { name: 'Preview of the run' });
    await dialog.or(plan).waitFor();
    expect(await dialog.count()).toBe(questions);
    if (questions > 0) {
      expect(await dialog.innerText()).toMatch(/Cells that count as empty\s+“-”/);
      expect(await formatsOf(partner)).toEqual({ default: meanwhile });
      await dialog.getByRole('button', { name: 'Close' }).click();
    }
  });

  it('does not apply to a file that was checked without it, when it is saved meanwhile', async () => {
    const { page } = await open('/send');
    await chooseFile(
      page,
      'Meanwhile',
      'feed.csv',
      'sku,product_name,price,currency\nA-1,Zelt,1299.90,EUR\n',
    );
    expect(await howToRead(page).inputValue()).toBe('');
    const swapped = { columns: { sku: { from: ['product_name'] }, product_name: { from: ['sku'] } } };
    await putFormat(service.api, 'Meanwhile', 'default', swapped);

    expect(await storeAndRun(page, 'Meanwhile')).toEqual([['A-1', 1299.9, 'EUR']]);
  });

  it.each([
    ['the guess reads it', german],
    ['nothing else reads it', german.replace('Artikelnr;Bezeichnung;EK-Preis', 'Kodex;Titulus;Pretium')],
  ])('reports that it skips every inspected row of a file: %s', async (kind, csv) => {
    const partner = `Skipped ${kind}`;
    const [sku, name, price] = csv.split(';') as [string, string, string];
    const columns = { sku: { from: [sku] }, product_name: { from: [name] }, price: { from: [price] } };
    await putFormat(service.api, partner, 'default', { delimiter: ';', columns });
    const { page } = await open('/send');
    await chooseFile(page, partner, 'feed.csv', csv);

    expect(await howToRead(page).inputValue()).toBe('default');
    await page.getByText('The price cannot be read').waitFor();
    const otherWay = page.getByText('Another choice of “How to read it” loads rows');
    expect(await otherWay.count()).toBe(kind === 'the guess reads it' ? 1 : 0);
    await page.getByRole('combobox', { name: 'Price' }).selectOption('Not in the file');
    await firstProduct(page).getByText('Zelt').waitFor();
    expect(await otherWay.count()).toBe(0);
  });

  it('can be selected if no automatically tried format reads the file', async () => {
    const columns = { sku: { position: 1 }, product_name: { position: 2 }, price: { position: 3 } };
    const definition = { delimiter: ';', header: false, decimal_separator: ',', columns };
    await putFormat(service.api, 'Choosable', 'another', corrected);
    await putFormat(service.api, 'Choosable', 'weekly', definition);
    const { page } = await open('/send');
    await chooseFile(page, 'Choosable', 'feed.csv', 'Z-1;Zelt;4,10\nL-1;Lampe;9,99\n');
    await howToRead(page).selectOption('weekly');
    await firstProduct(page).getByText('4.10').waitFor();

    expect(await storeAndRun(page, 'Choosable')).toEqual([
      ['L-1', 9.99, undefined],
      ['Z-1', 4.1, undefined],
    ]);
  });

  it('does not hide the instructions for a file that is not a table', async () => {
    await putFormat(service.api, 'Objects', 'weekly', corrected);
    const { page } = await open('/send');
    await chooseFile(page, 'Objects', 'feed.csv', '[{"sku":"LAMP-1"}]');

    expect(await howToRead(page).inputValue()).toBe('weekly');
    const alert = page.getByRole('alert');
    await alert.getByText('This file cannot be read as a table').waitFor();
    await alert.getByText('Data > Get Data > From File > From JSON').waitFor();
    await alert.getByRole('link', { name: 'Choose a file' }).waitFor();
  });

  it('is not named after a guess, which is saved beside it', async () => {
    await putFormat(service.api, 'Beside', 'default', { columns: { sku: { from: ['Nr'] } } });
    const { page } = await open('/send');
    await chooseFile(page, 'Beside', 'feed.csv', german);
    expect(await howToRead(page).inputValue()).toBe('*');
    expect(await page.getByLabel('Save as format').inputValue()).toBe('default-2');
    await button(page, 'Store the file and preview').click();
    await page.getByRole('region', { name: 'Preview of the run' }).getByText('9.99').waitFor();

    expect(Object.keys(await formatsOf('Beside')).sort()).toEqual(['default', 'default-2']);
  });

  it('rejects a file with other columns with an explanation, and can be corrected for it', async () => {
    await putFormat(service.api, 'Renamed', 'default', corrected);
    const { page } = await open('/send');
    await chooseFile(page, 'Renamed', 'feed.csv', german.replace('Artikelnr', 'ArtNr'));
    await howToRead(page).selectOption('default');
    await page.getByText('Missing required CSV headers: Bezeichnung, Artikelnr').waitFor();
    await page.getByRole('combobox', { name: 'SKU' }).selectOption('ArtNr');
    await firstProduct(page).getByText('4.10').waitFor();
    await button(page, 'Store the file and preview').click();
    await button(page, 'Replace it').click();
    await page.getByRole('region', { name: 'Preview of the run' }).getByText('Zelt').waitFor();

    const columns = { ...corrected.columns, sku: { from: ['ArtNr'] } };
    expect(await formatsOf('Renamed')).toEqual({ default: { ...corrected, columns } });
  });
});

describe('a file of skus and prices', () => {
  const pricesOnly = (page: Page) => page.getByRole('radio', { name: 'Change prices and stock only' });
  const known = (partner: string) =>
    service.api.loadFeed('sku,product_name,price,currency\nZ-1,Zelt,1,EUR\n', partner);
  const prices = {
    delimiter: ';',
    decimal_separator: ',',
    columns: { sku: { from: ['Artikelnr'] }, price: { from: ['EK-Preis'] }, currency: { value: 'EUR' } },
  };

  it.each([
    ['by the saved format that is for it', prices, 'Artikelnr;EK-Preis\nZ-1;4,10\n', 'default'],
    [
      'by a saved format that has names too',
      corrected,
      'Artikelnr;EK-Preis;Währung\nZ-1;4,10;EUR\n',
      'default',
    ],
    ['as it is', undefined, 'sku,price,currency\nZ-1,4.10,EUR\n', ''],
  ])('is read as an update, %s', async (kind, definition, csv, reading) => {
    const partner = `Prices ${kind}`;
    await known(partner);
    if (definition) await putFormat(service.api, partner, 'default', definition);
    const { page, complaints } = await open('/send');
    await chooseFile(page, partner, 'feed.csv', csv);

    await howToRead(page).waitFor();
    expect(await howToRead(page).inputValue()).toBe(reading);
    expect(await pricesOnly(page).isChecked()).toBe(true);
    await firstProduct(page).getByText('4.10').waitFor();
    expect(await storeAndRun(page, partner)).toEqual([['Z-1', 4.1, 'EUR']]);
    expect(complaints).toEqual([]);
  });

  it('is shown as an update reads it, when the name is unmapped', async () => {
    await known('Nameless');
    const { page } = await open('/send');
    await chooseFile(page, 'Nameless', 'feed.csv', german);
    await page.getByRole('combobox', { name: 'Name' }).selectOption('Not in the file');
    await page.getByText('Choose the column with the SKU, and the one with the name.').waitFor();
    await pricesOnly(page).check();

    const row = firstProduct(page);
    await row.getByText('Z-1').waitFor();
    expect(await page.getByText('No row would be loaded.').count()).toBe(0);
    await row.getByText('Zelt').waitFor({ state: 'detached' });
    expect(await storeAndRun(page, 'Nameless')).toEqual([['Z-1', 9.99, 'EUR']]);
  });
});

describe('spreadsheet rows', () => {
  it.each([
    [
      'our columns, tabs and a decimal comma',
      'sku\tproduct_name\tprice\tcurrency\nA-1\tZelt\t1.299,90\tEUR\nA-2\tZwerg\t1,99\tEUR\n',
    ],
    [
      'our columns, semicolons and a decimal comma',
      'sku;product_name;price;currency\nA-1;Zelt;1299,90;EUR\nA-2;Zwerg;1,99;EUR\n',
    ],
    [
      'German headers',
      'Artikelnummer\tBezeichnung\tPreis\tWährung\nA-1\tZelt\t1.299,90\tEUR\nA-2\tZwerg\t1,99\tEUR\n',
    ],
    [
      'the currency in a header',
      'Artikelnummer\tBezeichnung\tPreis in €\nA-1\tZelt\t1.299,90\nA-2\tZwerg\t1,99\n',
    ],
  ])('are read so that they load: %s', async (kind, rows) => {
    const partner = `Pasted ${kind}`;
    const { page, complaints } = await open('/send');
    await partnerField(page).fill(partner);
    await page.getByLabel('Or paste rows').fill(rows);
    await button(page, 'Check the rows').click();
    await howToRead(page).waitFor();
    expect(await howToRead(page).inputValue()).toBe('*');
    await firstProduct(page).getByText('1299.90').waitFor();
    expect(await page.getByText('The price cannot be read').count()).toBe(0);

    const products = await storeAndRun(page, partner);
    expect(products).toEqual([
      ['A-1', 1299.9, 'EUR'],
      ['A-2', 1.99, 'EUR'],
    ]);
    expect(complaints).toEqual([]);
  });

  it.each([
    ['comma', 'sku,product_name,price,currency\nA-1,Zelt,1299.90,EUR\n'],
    ['semicolon', 'sku;product_name;price;currency\nA-1;Zelt;1299.90;EUR\n'],
  ])('are read unchanged if that loses nothing: %s', async (kind, rows) => {
    const { page } = await open('/send');
    await chooseFile(page, `As it is ${kind}`, 'feed.csv', rows);

    expect(await howToRead(page).inputValue()).toBe('');
    expect(await storeAndRun(page, `As it is ${kind}`)).toEqual([['A-1', 1299.9, 'EUR']]);
    expect(await formatsOf(`As it is ${kind}`)).toEqual({});
  });

  it.each([
    [
      'decimals',
      'sku;product_name;price;currency\nA-1;Zelt;1,250;EUR\nA-2;Lampe;2,500;EUR\n',
      '1,250 means 1.250',
      1.25,
    ],
    [
      'the price',
      'sku,product_name,VK,currency\nA-1,Zelt,1.25,EUR\nA-2,Lampe,2.5,EUR\n',
      'The price is "VK"',
      1.25,
    ],
  ])('are asked about with two examples, by the keyboard: %s', async (kind, rows, answer, price) => {
    const { page } = await open('/send');
    await chooseFile(page, `Doubtful ${kind}`, 'feed.csv', rows);
    await page.getByText('Answer the questions about the file.').waitFor();
    expect(await button(page, 'Store the file and preview').isDisabled()).toBe(true);
    const choice = page.locator('.choice-card', { hasText: answer });
    expect(await choice.locator('.example').allInnerTexts()).toEqual([
      expect.stringMatching(/^A-1 · Zelt · 1\.250? EUR$/),
      expect.stringMatching(/^A-2 · Lampe · 2\.50{0,2} EUR$/),
    ]);
    expect(await findFaults(page)).toEqual([]);

    // The focus is at the first answer, and one key away from the button.
    expect(await page.locator(':focus').getAttribute('type')).toBe('radio');
    await page.getByRole('radio', { name: answer }).check();
    await page.keyboard.press('Tab');
    expect(await page.locator(':focus').textContent()).toBe('Store the file and preview');

    expect(await storeAndRun(page, `Doubtful ${kind}`)).toContainEqual(['A-1', price, 'EUR']);
  });
});

describe('a file that is read without a format', () => {
  it('is checked in the same way as it is loaded, also if a blank follows a quote', async () => {
    const { page } = await open('/send');
    await chooseFile(
      page,
      'Blank',
      'feed.csv',
      'sku,product_name,price,currency\nA-1,"Tent",1,EUR\nB-1,"Lamp" ,2,EUR\n',
    );
    const rows = page.getByRole('region', { name: 'First rows as products' }).locator('tbody tr');
    await rows.nth(1).waitFor();
    expect(await page.getByText('Text follows a closing quote').count()).toBe(0);

    expect(await storeAndRun(page, 'Blank')).toEqual([
      ['B-1', 2, 'EUR'],
      ['A-1', 1, 'EUR'],
    ]);
  });
});
