import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateKey } from './key-format';

/** The key kept in the data folder, generated at the first start. Only our own account can read the file. */
export function localKey(dataDir: string): string {
  const kept = readLocalKey(dataDir);
  if (kept !== undefined) return kept;
  const key = generateKey();
  writeFileSync(keyFile(dataDir), `${key}\n`, { mode: 0o600 });
  return key;
}

/** The key kept in the data folder; undefined where there is none. */
export function readLocalKey(dataDir: string): string | undefined {
  try {
    return readFileSync(keyFile(dataDir), 'utf8').trim() || undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return undefined;
  }
}

const keyFile = (dataDir: string) => join(dataDir, 'api-key');
