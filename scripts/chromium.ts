import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium, type Browser } from 'playwright-core';

const names = ['chromium', 'chromium-browser', 'google-chrome'];

/** Flags for root and for a machine without internet access. Chromium must request nothing but the page. */
const quietly = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Starts Chromium: `CHROMIUM`, or the first one on the search path. The caller closes it. */
export function launchChromium(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM ?? findChromium();
  if (!executablePath) throw new Error('There is no Chromium: install it, or name it in CHROMIUM.');
  return chromium.launch({ executablePath, args: quietly });
}

function findChromium(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return names
    .flatMap((name) => folders.map((folder) => join(folder, name)))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}
