import type { BrowserContext, Page } from 'playwright-core';
import { findFaults, findUnreadable, startBrowser } from '../../support/browser';
import { openConsole } from '../../support/console';
import { mendCell } from '../../support/mending';
import { startUsedService, type ServiceProcess } from '../../support/process';

let service: ServiceProcess;
let browser: BrowserContext;
beforeAll(async () => {
  browser = await startBrowser();
  service = await startUsedService();
});

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

/** Loads a feed, and opens its skipped rows. */
async function openRows(partner: string, rows: string[]) {
  const { feedId } = await service.api.loadFeed(`sku,product_name,price\n${rows.join('\n')}\n`, partner);
  const opened = await openConsole(
    browser,
    { url: service.url!, key: service.key! },
    `/feeds/${feedId}/issues`,
  );
  await mendCell(opened.page, 'sku', 2).waitFor();
  return opened;
}

const priceless = (count: number) => Array.from({ length: count }, (_, at) => `S-${at},Product ${at},x`);

/** Waits until a cell of the grid has the focus. */
const focused = (page: Page, column: string, line: number) =>
  page.locator(`[role=grid] tr[data-line="${line}"] td[data-name="${column}"]:focus`).waitFor();

const said = (page: Page, text: string) => page.getByRole('status').filter({ hasText: text }).waitFor();

describe('the grid of skipped rows', () => {
  it('is one stop of Tab, checks a cell while it is typed, and sends it within ten keys', async () => {
    const { page, complaints } = await openRows('Keys', ['A,Tent,x', 'B,,2', 'C,Mat,y']);
    expect(await page.locator('[role=grid] [tabindex="0"]').count()).toBe(1);
    await page.locator('[role=grid] [tabindex="0"]').focus();
    await focused(page, 'price', 2);
    const field = page.getByRole('textbox', { name: 'price, line 2', exact: true });
    let keys = 0;
    const press = async (key: string) => {
      keys++;
      await page.keyboard.press(key);
    };

    await press('1');
    await press('z');
    expect(await field.getAttribute('aria-invalid')).toBe('true');
    expect(await findFaults(page)).toEqual([]);
    await press('Backspace');
    await page.getByText('This cell is right.').waitFor();
    expect(await field.getAttribute('aria-invalid')).toBe('false');
    await press('F8');
    await focused(page, 'product_name', 3);
    await press('F8');
    await focused(page, 'price', 4);
    await page.keyboard.press('ArrowLeft');
    await focused(page, 'product_name', 4);
    await page.keyboard.press('Escape');
    await said(page, '1 row ready to send');
    await press('Control+Enter');
    await page.waitForURL(/\/feeds\/FD\d+\/plan$/);
    expect(keys).toBeLessThanOrEqual(10);
    expect(complaints).toEqual([]);
  });

  it('replaces in a column over all pages, fills down, leaves rows out, and undoes each', async () => {
    const { page, complaints } = await openRows('Tools', priceless(120));
    await button(page, 'Next problem').click();
    await focused(page, 'price', 2);
    await button(page, 'Replace in column…').click();
    await page.getByLabel('Replace with').fill('7');
    expect(await findUnreadable(page)).toEqual([]);
    await page.keyboard.press('Enter');
    await said(page, 'Changed 120 cells.');
    await said(page, '120 rows ready to send');
    await focused(page, 'price', 2);

    await page.keyboard.press('Control+z');
    await said(page, '0 cells changed');
    await page.keyboard.type('8');
    await page.keyboard.press('Enter');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Control+d');
    await said(page, '120 rows ready to send');
    await button(page, 'Next').click();
    expect(await mendCell(page, 'price', 52).textContent()).toBe('8');

    await mendCell(page, 'price', 53).click();
    await button(page, 'Leave row out').click();
    await focused(page, 'price', 53);
    await said(page, '1 row left out');
    await page.keyboard.press('Control+z');
    await said(page, '120 rows ready to send');
    await page.keyboard.press('Control+y');
    await said(page, '119 rows ready to send');

    const asked: string[] = [];
    page.on('dialog', (dialog) => asked.push(dialog.type()));
    await page.reload();
    await said(page, '119 rows ready to send');
    expect(asked).toEqual(['beforeunload']);
    await button(page, 'Undo all').click();
    await said(page, '0 cells changed');
    await page.reload();
    await said(page, '0 cells changed');
    expect(asked).toHaveLength(1);
    expect(complaints).toEqual([]);
  });

  it('mends ten thousand rows at once', async () => {
    const { page, complaints } = await openRows('Ten thousand', priceless(10_000));
    await button(page, 'Next problem').click();
    await button(page, 'Replace in column…').click();
    await page.getByLabel('Replace with').fill('7');
    await page.keyboard.press('Enter');
    await said(page, '10,000 rows ready to send');
    await button(page, 'Send the mended rows').click();
    await page.waitForURL(/\/feeds\/FD\d+\/plan$/);
    await page.getByRole('region', { name: 'Preview of the run' }).waitFor();
    expect(complaints).toEqual([]);
  });
});
