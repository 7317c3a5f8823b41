import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateKey } from './key-format';

/** The key kept in the data folder, generated at the first start. Only our own account can read the file. */
export function localKey(dataDir: string): string {
  const file = join(dataDir, 'api-key');
  try {
    const key = readFileSync(file, 'utf8').trim();
    if (key) return key;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const key = generateKey();
  writeFileSync(file, `${key}\n`, { mode: 0o600 });
  return key;
}
