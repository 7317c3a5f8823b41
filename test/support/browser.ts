import { readFileSync } from 'node:fs';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { launchChromium } from '../../scripts/chromium';
import { afterFile } from './harness';

/** Starts Chromium, until the file ends. */
export async function startBrowser(): Promise<Browser> {
  const browser = await launchChromium();
  afterFile(() => browser.close());
  return browser;
}

/** A page, and all that it has asked for and complained about. */
export interface OpenPage {
  page: Page;
  requested: string[];
  complaints: string[];
}

export async function openPage(browser: Browser, options?: BrowserContextOptions): Promise<OpenPage> {
  const page = await browser.newPage(options);
  const [requested, complaints]: [string[], string[]] = [[], []];
  page.on('request', (request) => requested.push(request.url()));
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('dialog', (dialog) => complaints.push(dialog.message()));
  page.on('console', (message) => {
    // What the policy forbids is told here.
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  return { page, requested, complaints };
}

const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** Checks the page as it is. @returns each violation of the accessibility rules, with the elements */
export function accessibilityViolations(page: Page): Promise<string[]> {
  return page.evaluate(`${axe};
    axe.run(document).then(({ violations }) =>
      violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`);
}
