import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { openPage, type OpenPage } from './browser';

/** Opens a view of the console, and enters the key there. */
export async function openConsole(
  browser: Browser,
  { url, key }: { url: string; key: string },
  path: string,
  options?: BrowserContextOptions,
): Promise<OpenPage> {
  const opened = await openPage(browser, options);
  await opened.page.goto(`${url}/console${path}`);
  await opened.page.getByLabel('API key').fill(key);
  await opened.page.getByRole('button', { name: 'Sign in' }).click();
  return opened;
}

/** Chooses a file for a partner, and waits until it has been inspected. */
export async function chooseFile(page: Page, partner: string, name: string, content: string): Promise<void> {
  await page.getByLabel('Partner', { exact: true }).fill(partner);
  const file = { name, mimeType: 'text/csv', buffer: Buffer.from(content) };
  await page.setInputFiles('input[type=file]', file);
  await page.getByRole('heading', { name: 'What this file is' }).waitFor();
}
