import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { openPage, watchPage, type Look, type OpenPage } from './browser';
import { createTestFolder } from './harness';

/** Tabs with a session, by service and key. */
const tabs = new Map<string, Page>();

/** Opens a view of the console in the tab of this key, which signs in once. Another display needs a new tab. */
export async function openConsole(
  browser: BrowserContext,
  { url, key }: { url: string; key: string },
  path: string,
  look?: Look,
): Promise<OpenPage> {
  const name = `${url} ${key}`;
  const tab = look ? undefined : tabs.get(name);
  const opened = look ? await openPage(browser, look) : await watchPage(tab ?? (await browser.newPage()));
  const { page } = opened;
  await page.goto(`${url}/console${path}`);
  if (tab) return opened;
  await enterKey(page, key);
  // A page that is reloaded before the key is stored asks for it again.
  await page.getByLabel('API key').waitFor({ state: 'detached' });
  if (!look) tabs.set(name, page);
  return opened;
}

/** Enters a key at the sign-in, without waiting for the result. */
export async function enterKey(page: Page, key: string): Promise<void> {
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Navigates to a view like a link of the console, by way of an unknown view, so that no state of the last view remains. */
export async function goToView(page: Page, path: string): Promise<void> {
  await followLink(page, '/nowhere');
  await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
  await followLink(page, path);
}

const followLink = (page: Page, path: string) =>
  page.evaluate(
    `history.pushState(null, '', ${JSON.stringify(`/console${path}`)}); dispatchEvent(new PopStateEvent('popstate'))`,
  );

/** Selects a file for a partner, and waits until it has been inspected. @param file - its name; and how the console shows it, if otherwise */
export async function chooseFile(
  page: Page,
  partner: string,
  file: string | { name: string; shownName: string },
  content: string,
): Promise<void> {
  const { name, shownName } = typeof file === 'string' ? { name: file, shownName: file } : file;
  await page.getByLabel('Partner', { exact: true }).fill(partner);
  await page.setInputFiles('input[type=file]', { name, mimeType: 'text/csv', buffer: Buffer.from(content) });
  await page.getByRole('heading', { name: shownName, exact: true }).waitFor();
}

/** Drops a file for a partner on the zone, as from a desktop. */
export async function dropFile(
  page: Page,
  partner: string,
  name: string,
  content: string | Uint8Array,
): Promise<void> {
  await page.getByLabel('Partner', { exact: true }).fill(partner);
  const file = join(createTestFolder(), name);
  writeFileSync(file, content);
  const zone = (await page.locator('.drop').boundingBox())!;
  const session = await page.context().newCDPSession(page);
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
    await session.send('Input.dispatchDragEvent', {
      type,
      x: zone.x + 20,
      y: zone.y + 20,
      data: { items: [], files: [file], dragOperationsMask: 1 },
    });
}
