import { readFileSync } from 'node:fs';
import type { BrowserContext, Page } from 'playwright-core';
import { launchChromium } from '../../scripts/chromium';
import { afterFile } from './harness';

/** Starts Chromium until the file ends. Its pages share a cache. */
export async function startBrowser(): Promise<BrowserContext> {
  const browser = await launchChromium();
  afterFile(() => browser.close());
  return browser.newContext();
}

/** A page, and all of its requests and errors. */
export interface OpenPage {
  page: Page;
  requested: string[];
  complaints: string[];
}

export interface Look {
  colorScheme?: 'light' | 'dark';
  viewport?: { width: number; height: number };
}

const ofThisTest: Page[] = [];

// A page that stays open keeps sending requests.
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

/** Sets the display of the page, and clears the state of earlier tests. */
export async function watchPage(page: Page, look: Look = {}): Promise<OpenPage> {
  const { colorScheme, viewport } = { ...ordinary, ...look };
  page.removeAllListeners();
  await page.unrouteAll();
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize(viewport!);
  const [requested, complaints]: [string[], string[]] = [[], []];
  page.on('request', (request) => requested.push(request.url()));
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('dialog', (dialog) =>
    // The browser asks before it leaves a page with changes.
    dialog.type() === 'beforeunload' ? void dialog.accept() : complaints.push(dialog.message()),
  );
  page.on('console', (message) => {
    // Violations of the content security policy appear here.
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  return { page, requested, complaints };
}

const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** Rules that depend only on colors. */
const colorRules = ['color-contrast', 'link-in-text-block'];
/** Rules that a narrow screen can violate. */
const layoutRules = ['color-contrast', 'target-size', 'scrollable-region-focusable'];

/** Words of up to 24 letters, digits and points that continue on the next line: not addresses, code, digests, nor cells of the grid. */
const brokenWords = `(() => {
  const found = new Set();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode;
    if (node.parentElement.closest('script, style, pre, code, .digest, .cell') || !node.parentElement.checkVisibility()) continue;
    for (const { 0: word, index } of node.data.matchAll(/\\S+/g)) {
      if (word.length > 24 || /[-/_?=]/.test(word)) continue;
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const tops = [...range.getClientRects()].filter(({ width }) => width > 0).map(({ top }) => top);
      if (Math.max(...tops) - Math.min(...tops) > 4) found.add(word);
    }
  }
  return [...found];
})()`;

/**
 * Checks the page in its current state. @returns violations of the rules with their elements, whether the page is too wide, and words
 * that are broken
 */
export async function findFaults(page: Page, rules?: readonly string[]): Promise<string[]> {
  if (await page.evaluate('typeof axe === "undefined"')) await page.evaluate(axe);
  const faults = await page.evaluate<
    string[]
  >(`axe.run(document, ${JSON.stringify(rules ? { runOnly: rules } : {})}).then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`);
  if ((await page.evaluate<number>('document.documentElement.scrollWidth')) > page.viewportSize()!.width)
    faults.push('wider than the screen');
  for (const word of await page.evaluate<string[]>(brokenWords)) faults.push(`broken: ${word}`);
  return faults;
}

/** A display: colors, the width of the screen in pixels, and the rules that it affects. */
const looks = [
  { colorScheme: 'light', width: 1280, rules: undefined },
  { colorScheme: 'dark', width: 1280, rules: colorRules },
  { colorScheme: 'light', width: 390, rules: layoutRules },
] as const;

/** Checks the page in light and dark colors and on a phone. @returns the violations by display */
export async function findUnreadable(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const { colorScheme, width, rules } of looks) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    // Colors have a transition.
    await page.evaluate(
      'document.getAnimations().forEach((each) => each instanceof CSSTransition && each.finish())',
    );
    const faults = await findFaults(page, rules);
    found.push(...faults.map((fault) => `${colorScheme}, ${width} pixels: ${fault}`));
  }
  return found;
}
