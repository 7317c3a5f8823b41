import { readFileSync } from 'node:fs';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { afterFile } from './harness';

/** As root, and with no way to the internet; and so that what the page asks for is all that is asked for. */
const quietly = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Starts Chromium, until the file ends. */
export async function startBrowser(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM;
  if (!executablePath) throw new Error('There is no Chromium: install it, or name it in CHROMIUM.');
  const browser = await chromium.launch({ executablePath, args: quietly });
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
