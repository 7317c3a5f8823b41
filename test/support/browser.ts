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

/** How a page is looked at: colors, and the width of a screen in pixels. */
const looks = [
  { colorScheme: 'light', width: 1280 },
  { colorScheme: 'dark', width: 1280 },
  { colorScheme: 'light', width: 390 },
] as const;

/**
 * Checks the page as it is in light and dark colors and on a phone.
 * @returns what each look violates of the accessibility rules, and whether it is wider than the screen
 */
export async function findUnreadable(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const { colorScheme, width } of looks) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    // Colors change over a moment.
    await page.evaluate(
      'document.getAnimations().forEach((each) => each instanceof CSSTransition && each.finish())',
    );
    const violations = await accessibilityViolations(page);
    if ((await page.evaluate<number>('document.documentElement.scrollWidth')) > width)
      violations.push('wider than the screen');
    found.push(...violations.map((violation) => `${colorScheme}, ${width} pixels: ${violation}`));
  }
  return found;
}
