import { readFileSync } from 'node:fs';
import type { BrowserContext, Page } from 'playwright-core';
import { launchChromium } from '../../scripts/chromium';
import { afterFile } from './harness';

/** Starts Chromium, until the file ends. Its pages share what it has loaded. */
export async function startBrowser(): Promise<BrowserContext> {
  const browser = await launchChromium();
  afterFile(() => browser.close());
  return browser.newContext();
}

/** A page, and all that it has asked for and complained about. */
export interface OpenPage {
  page: Page;
  requested: string[];
  complaints: string[];
}

/** How a page is looked at. */
export interface Look {
  colorScheme?: 'light' | 'dark';
  viewport?: { width: number; height: number };
}

const ofThisTest: Page[] = [];

// A page that is left open keeps asking the service.
afterEach(async () => {
  for (const page of ofThisTest.splice(0)) await page.close();
});

/** Opens an empty page, which is closed after the test. */
export async function openPage(browser: BrowserContext, look?: Look): Promise<OpenPage> {
  const page = await browser.newPage();
  ofThisTest.push(page);
  return watchPage(page, look);
}

const ordinary: Look = { colorScheme: 'light', viewport: { width: 1280, height: 720 } };

/** Sets how the page is looked at, and forgets what earlier tests have made of it. */
export async function watchPage(page: Page, look: Look = {}): Promise<OpenPage> {
  const { colorScheme, viewport } = { ...ordinary, ...look };
  page.removeAllListeners();
  await page.unrouteAll();
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize(viewport!);
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

/** Rules that depend on nothing but colors. */
const colorRules = ['color-contrast', 'link-in-text-block'];
/** Those that a narrow screen can break. */
const layoutRules = ['color-contrast', 'target-size', 'scrollable-region-focusable'];

/**
 * Checks the page as it is.
 * @returns each violation of the accessibility rules, or of these, with the elements; and whether it is wider than the screen
 */
export async function findFaults(page: Page, rules?: readonly string[]): Promise<string[]> {
  if (await page.evaluate('typeof axe === "undefined"')) await page.evaluate(axe);
  const faults = await page.evaluate<
    string[]
  >(`axe.run(document, ${JSON.stringify(rules ? { runOnly: rules } : {})}).then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`);
  if ((await page.evaluate<number>('document.documentElement.scrollWidth')) > page.viewportSize()!.width)
    faults.push('wider than the screen');
  return faults;
}

/** How a page is looked at: colors, the width of a screen in pixels, and the rules that this look has a say in. */
const looks = [
  { colorScheme: 'light', width: 1280, rules: undefined },
  { colorScheme: 'dark', width: 1280, rules: colorRules },
  { colorScheme: 'light', width: 390, rules: layoutRules },
] as const;

/**
 * Checks the page as it is in light and dark colors and on a phone.
 * @returns the faults in each look
 */
export async function findUnreadable(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const { colorScheme, width, rules } of looks) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    // Colors change over a moment.
    await page.evaluate(
      'document.getAnimations().forEach((each) => each instanceof CSSTransition && each.finish())',
    );
    const faults = await findFaults(page, rules);
    found.push(...faults.map((fault) => `${colorScheme}, ${width} pixels: ${fault}`));
  }
  return found;
}
