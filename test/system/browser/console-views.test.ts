import type { BrowserContext, Page } from 'playwright-core';
import { findUnreadable, openPage, startBrowser } from '../../support/browser';
import { goToView, openConsole } from '../../support/console';
import { fetchNow, putSource, startFeedServer } from '../../support/source-requests';
import { eventually } from '../../support/harness';
import { startUsedService, type ServiceProcess } from '../../support/process';

const header = 'sku,product_name,brand,category,price,currency,availability\n';
let service: ServiceProcess;
let browser: BrowserContext;
let feedId: string;
let productId: string;
beforeAll(async () => {
  browser = await startBrowser();
  service = await startUsedService({ PRIVATE_ADDRESSES: 'on' });
  const rows = 'T-1,Tent,North,Tents,189.90,EUR,in stock\nL-1,Lamp,North,Lamps,x,EUR,in stock\n';
  await service.api.loadFeed(`${header}${rows.replace('189.90', '199.90')}`, 'Views');
  ({ feedId } = await service.api.loadFeed(
    `${header}${rows}M-1,Mat,South,Mats,59,EUR,ask us\nP-1,,North,Tents,1,EUR,\n`,
    'Views',
  ));
  const { body } = await service.api.get('/products?partner_name=Views&sku=T-1');
  productId = body.items[0].product_id;
  await service.api.post('/orders', {
    partner_name: 'Views',
    items: [{ product_id: productId, quantity: 2 }],
  });
  await fetchSources();
});

/** Fetches two sources: one that is tested, and one that fails. */
async function fetchSources(): Promise<void> {
  const feeds = await startFeedServer((request, response) => {
    response.statusCode = request.url === '/export.csv' ? 200 : 404;
    response.end(
      `${header}T-1,Tent,North,Tents,x,EUR,in stock\nM-1,Mat for three with a blanket,South,Mats and blankets,1299.50,EUR,in stock\n`,
    );
  });
  const columns = { sku: { from: ['sku'] }, product_name: { join: ['brand', 'product_name'], with: ' ' } };
  await service.api.put('/partners/Views/formats/joined', { columns, null_values: ['-'] });
  const tested = { url: `${feeds.url}/export.csv`, run_after_fetch: false, is_enabled: false };
  await putSource(service.api, 'Views', 'tested', tested);
  await putSource(service.api, 'Views', 'failing', {
    url: `${feeds.url}/gone.csv`,
    format: 'joined',
    mode: 'replace',
    schedule: { cron: '30 5 * * mon-fri', time_zone: 'Europe/Berlin' },
    headers: { 'x-feed-token': 'secret' },
  });
  await fetchNow(service.api, 'Views', 'tested');
  for (let attempts = 0; attempts < 5; attempts++) await fetchNow(service.api, 'Views', 'failing');
}

async function openView(path: string): Promise<Page> {
  return (await openConsole(browser, { url: service.url!, key: service.key! }, path)).page;
}

/** The views, each with its content after loading. */
const views = (): [path: string, shown: string][] => [
  ['/', 'tbody tr'],
  ['/send', '.drop'],
  ['/feeds', 'tbody tr'],
  ['/skipped', 'tbody tr'],
  [`/feeds/${feedId}/plan`, '.counts'],
  [`/feeds/${feedId}/run`, '.counts'],
  [`/feeds/${feedId}/issues`, '.cell.error'],
  [`/feeds/${feedId}/runs`, 'tbody tr'],
  [`/feeds/${feedId}/runs/1`, '.badge.update'],
  ['/partners', 'tbody tr'],
  ['/partners/Views', '.count-note'],
  ['/sources', 'tbody .badge.bad'],
  ['/sources?partner=Unknown', '.empty'],
  ['/sources/new', '.times li'],
  ['/partners/Views/sources/failing', 'tbody .badge.bad'],
  ['/partners/Views/sources/failing/edit', '.times li'],
  ['/partners/Views/sources/failing/test', '[role=alert]'],
  ['/partners/Views/sources/tested/test', '[role=region] tbody tr'],
  ['/partners/Views/sources/unknown', '[role=alert]'],
  ['/partners/Views/formats/joined', 'details'],
  ['/catalog', '.facet'],
  ['/catalog?q=tent&partner=Views', 'tbody tr'],
  [`/products/${productId}`, 'tbody tr:visible'],
  ['/orders', 'tbody tr'],
  ['/sales', '.bars li'],
  ['/webhooks', '.empty'],
  ['/webhooks/99999', '.empty'],
  ['/nowhere', 'main .button'],
  ['/products/PR99999999', '[role=alert]'],
  ['/feeds/FD99999999/run', '[role=alert]'],
];

describe('each view, in light and dark colors and on a phone', () => {
  it('follows the rules of accessibility, breaks no word, and is no wider than the screen', async () => {
    const page = await openView('/');
    const found: Record<string, unknown> = {};
    for (const [path, shown] of views()) {
      await page.setViewportSize({ width: 1280, height: 900 });
      await goToView(page, path);
      await page.locator(shown).first().waitFor();
      const unreadable = await findUnreadable(page);
      if (unreadable.length > 0) found[path] = unreadable;
    }
    expect(found).toEqual({});
  });

  it('has dialogs that follow them too, open by the keyboard, and close', async () => {
    const page = await openView(`/feeds/${feedId}/runs/1`);
    await page.getByRole('button', { name: 'Undo this run' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Undo run 1?' });
    await dialog.getByRole('table').waitFor();

    expect(await findUnreadable(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    const focused = await page.evaluate<string>('document.activeElement.textContent');
    expect(focused).toBe('Undo this run');
  });
});

describe('the changes of a run', () => {
  it('can be reverted after a preview', async () => {
    const { feedId: undone } = await service.api.loadFeed(`${header}U-1,Stove,,,49,EUR,\n`, 'Undone');
    const page = await openView(`/feeds/${undone}/runs/1`);
    await page.getByRole('button', { name: 'Undo this run' }).click();
    await page.getByRole('dialog').getByText('U-1').waitFor();
    await page.getByRole('button', { name: 'Undo the run' }).click();

    await page.getByRole('heading', { name: 'Runs of this feed' }).waitFor();
    await page.getByText('Undone by run 2').waitFor();
    expect((await service.api.get('/products?partner_name=Undone')).body.count).toBe(0);
  });
});

describe('the catalog', () => {
  it('is filtered by search and facets, which its address keeps', async () => {
    const page = await openView('/catalog?partner=Views');
    await page.getByRole('button', { name: /^South/ }).click();
    await page.getByRole('link', { name: 'Tent', exact: true }).waitFor({ state: 'detached' });
    expect(new URL(page.url()).searchParams.get('brand')).toBe('South');

    await page.reload();
    await page.getByRole('link', { name: 'Mat', exact: true }).waitFor();
    expect(await page.locator('tbody tr').count()).toBe(1);
  });

  it('searches while a word is typed, and reports excluded products', async () => {
    const page = await openView('/catalog?partner=Views');
    await page.getByRole('link', { name: 'Mat', exact: true }).waitFor();
    await page.getByLabel('Name, brand or SKU').fill('Tent n');
    await page.getByRole('link', { name: 'Mat', exact: true }).waitFor({ state: 'detached' });

    await page.getByRole('link', { name: 'Tent', exact: true }).waitFor();
    await page.getByText('up to eight words of at least two characters each').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it('requests the products of a partner at the end of a day, and shows the start of the history', async () => {
    const page = await openView('/');
    const asked = page.waitForRequest((request) => request.url().includes('as_of=2020-01-0'));
    await goToView(page, '/catalog?partner=Views&day=2020-01-01');

    await page.getByText('The history of Views begins at').waitFor();
    expect(new URL((await asked).url()).searchParams.get('partner_name')).toBe('Views');
  });
});

describe('the landing page and the sign-in', () => {
  it('follows the rules of accessibility, and leads to the console', async () => {
    const { page, complaints } = await openPage(browser);
    await page.goto(`${service.url!}/`);

    expect(await findUnreadable(page)).toEqual([]);
    await page.getByRole('link', { name: 'Open the console' }).click();
    await page.getByLabel('API key').waitFor();
    await page.getByText('I have no key').click();
    await page.getByText('Ask the operator').waitFor();
    expect(await findUnreadable(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });
});

describe('a list whose next page cannot be loaded', () => {
  it('keeps its rows, reports the error below them, and tries again', async () => {
    const { feedId: planned } = await service.api.uploadFeed(`${header}S-1,Stove,,,9,EUR,\n`, 'Planned');
    await service.api.put('/partners/Views/formats/another', { columns: { sku: { from: ['Nr'] } } });
    const { page } = await openConsole(browser, { url: service.url!, key: service.key! }, '/');
    const lists = [
      ['/feeds'],
      [`/feeds/${planned}/plan`],
      [`/feeds/${feedId}/runs`],
      [`/feeds/${feedId}/runs/1`],
      ['/partners'],
      ['/partners/Views', 'Formats'],
      ['/sources'],
      ['/partners/Views/sources/failing', 'History of fetches'],
      ['/catalog'],
      [`/products/${productId}`, 'History'],
      ['/orders'],
    ] as const;
    let isBroken = true;
    await page.route(
      () => true,
      async (route) => {
        const request = route.request();
        if (request.resourceType() !== 'fetch') return route.continue();
        if (isBroken && new URL(request.url()).searchParams.has('cursor'))
          return route.fulfill({ status: 400, json: { detail: 'No such page' } });
        const url = request.url().replace(/([?&])cursor=[^&]*/, '$1');
        const response = await route.fetch({ url });
        const body = (await response.json()) as { items?: unknown };
        return route.fulfill({ response, json: body.items ? { ...body, next_cursor: '1' } : body });
      },
    );
    for (const [path, title] of lists) {
      isBroken = true;
      await goToView(page, path);
      const list = page
        .locator('section', title ? { has: page.getByRole('heading', { name: title, exact: true }) } : {})
        .filter({ has: page.getByRole('button', { name: 'Show more' }) })
        .last();
      const rows = list.locator('tbody tr');
      await rows.first().waitFor();
      const before = await rows.count();
      await list.getByRole('button', { name: 'Show more' }).click();
      const failure = page.getByRole('alert').filter({ hasText: 'No such page' });
      await failure.waitFor();
      const kept = await page.locator('section', { has: failure }).locator('tbody tr').count();
      expect({ path, kept }).toEqual({ path, kept: before });
      isBroken = false;
      await failure.getByRole('button', { name: 'Try again' }).click();
      await failure.waitFor({ state: 'detached' });
    }
  });
});

/** Names with special characters in addresses, or characters that resemble them. */
const namesInAddresses = ['100% Wool Ltd', 'a/b?c#d&e+f=g;h', '../ä 🧦 %2F%252F \\ ..', '%E0%A4%A ~ 50%25'];

describe('an address', () => {
  it.each(namesInAddresses)(
    'keeps the name %s in every view, after a reload and when it is entered',
    async (name) => {
      const { feedId: ofName } = await service.api.loadFeed(`${header}N-1,Sock,N&D,,1,EUR,\n`, name);
      const path = `/partners/${encodeURIComponent(name)}`;
      await service.api.put(`${path}/formats/own`, { columns: { sku: { from: ['Nr %'] } } });
      const definition = { url: 'https://feeds.example/a.csv', run_after_fetch: false, is_enabled: false };
      await putSource(service.api, name, 'shop', definition);
      const page = await openView('/feeds');
      const heading = (text: string) => page.getByRole('heading', { name: text, exact: true, level: 1 });
      const link = (text: string) => page.locator('main').getByRole('link', { name: text, exact: true });
      const hasRow = () => page.getByRole('rowheader', { name: 'Sock' }).waitFor();
      const back = async () => {
        await page.goBack();
        await heading(name).waitFor();
      };

      await page.getByLabel('Partner', { exact: true }).fill(name);
      await page.reload();
      await page.locator('tbody tr').waitFor();
      await page.getByText(ofName, { exact: true }).waitFor();
      await link(name).click();
      await heading(name).waitFor();
      expect(new URL(page.url()).pathname).toBe(`/console${path}`);
      await page.reload();
      await link('own').click();
      await page.getByLabel('Name in the file: SKU').waitFor();
      await page.reload();
      await page.getByLabel('Name in the file: SKU').waitFor();
      await link(name).click();
      await heading(name).waitFor();
      await link('shop').click();
      await link('Change the source').click();
      await page.reload();
      await page.getByLabel('Address of the file').waitFor();
      await page.goto(`${service.url!}/console${path}/sources/shop/test`);
      await link('To the source').click();
      await link(name).click();
      await heading(name).waitFor();

      await link('See its products').click();
      await hasRow();
      await page.getByRole('button', { name: /^N&D/ }).click();
      await page.reload();
      await hasRow();
      expect(await page.getByLabel('Partner', { exact: true }).inputValue()).toBe(name);
      expect(new URL(page.url()).searchParams.get('brand')).toBe('N&D');
      await link('Sock').click();
      await link(name).click();
      await heading(name).waitFor();
      await link('Add a source').click();
      expect(await page.getByLabel('Partner', { exact: true }).inputValue()).toBe(name);
      await back();
      await link('Send a feed').click();
      await page.reload();
      expect(await page.getByLabel('Partner', { exact: true }).inputValue()).toBe(name);
    },
  );

  it('that is typed with the plain name leads to the partner', async () => {
    await service.api.loadFeed(`${header}N-1,Sock,,,1,EUR,\n`, '100% Wool Ltd');
    const page = await openView('/partners/100% Wool Ltd');

    await page.getByRole('heading', { name: '100% Wool Ltd', level: 1 }).waitFor();
    await page
      .getByText(/^FD\d+$/)
      .first()
      .waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  });
});

describe('a view that cannot be displayed', () => {
  it('reports that, offers solutions, and can be left by the navigation', async () => {
    const { page } = await openConsole(browser, { url: service.url!, key: service.key! }, '/');
    await page.route('**/orders?*', (route) => route.fulfill({ json: { items: [null] } }));
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Orders' }).click();
    await page.getByRole('heading', { name: 'This view cannot be shown' }).waitFor();
    expect(await findUnreadable(page)).toEqual([]);
    const isFocused = "document.activeElement === document.querySelector('h1')";
    expect(await page.evaluate(isFocused)).toBe(true);

    // On a phone, the navigation is below a button.
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.getByRole('link', { name: 'Feeds', exact: true }).click();
    await page.locator('tbody tr').first().waitFor();
    await page.getByRole('link', { name: 'Orders', exact: true }).click();
    await page.unrouteAll();
    await page.getByRole('button', { name: 'Load again' }).click();
    await page.locator('tbody tr').first().waitFor();
  });
});

describe('a part of the console that is loaded when it is needed', () => {
  it('is reported as replaced after an upgrade of the service, and loaded with the page', async () => {
    const { page } = await openConsole(browser, { url: service.url!, key: service.key! }, '/');
    const places = page.getByRole('navigation', { name: 'Main' });
    await page.route('**/assets/queue-*', (route) => route.fulfill({ status: 404 }));
    await page.route('**/console', async (route) => {
      const shell = await (await route.fetch()).text();
      return route.fulfill({
        body: shell.replace(/console-[0-9a-f]{16}\.js/, 'console-0123456789abcdef.js'),
      });
    });
    await places.getByRole('link', { name: 'Queue' }).click();
    await page.getByRole('heading', { name: 'A new version of the console is here' }).waitFor();
    expect(await findUnreadable(page)).toEqual([]);

    await page.unrouteAll();
    await page.getByRole('button', { name: 'Load again' }).click();
    await page.getByRole('heading', { name: 'Queue', level: 1 }).waitFor();
  });
});

describe('the keyboard', () => {
  it('reaches the search by one key from any view, and the focus is in each view that is opened', async () => {
    const { page } = await openConsole(browser, { url: service.url!, key: service.key! }, '/');
    const focused = () =>
      page.evaluate<string>('document.activeElement.tagName + document.activeElement.type');
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.keyboard.press('/');
    await eventually('the search has the focus', async () => expect(await focused()).toBe('INPUTsearch'));
    expect(new URL(page.url()).pathname).toBe('/console/catalog');
    await page.keyboard.type('a/b');
    expect(await page.getByLabel('Name, brand or SKU').inputValue()).toBe('a/b');

    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole('button', { name: 'Menu' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Webhooks' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor();
    expect(await focused()).toMatch(/^H1/);
    expect(await page.getByRole('navigation', { name: 'Main' }).isVisible()).toBe(false);
  });
});
