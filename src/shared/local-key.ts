import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateKey } from './key-format';

/** Returns the key in the data folder, generated at the first start. Only the service's account can read the file. */
export function localKey(dataDir: string): string {
  const kept = readLocalKey(dataDir);
  if (kept !== undefined) return kept;
  const key = generateKey();
  writeFileSync(keyFile(dataDir), `${key}\n`, { mode: 0o600 });
  return key;
}

/** Returns the key in the data folder; undefined without one. */
export function readLocalKey(dataDir: string): string | undefined {
  try {
    return readFileSync(keyFile(dataDir), 'utf8').trim() || undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return undefined;
  }
}

const keyFile = (dataDir: string) => join(dataDir, 'api-key');
