import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateKey } from './key-format';
import { generateSecretsKey } from './secret-box';

/** Returns the key in the data folder, generated at the first start. Only the service's account can read the file. */
export function localKey(dataDir: string): string {
  return readLocalKey(dataDir) ?? writeKey(join(dataDir, 'api-key'), generateKey());
}

/** Returns the key in the data folder; undefined without one. */
export function readLocalKey(dataDir: string): string | undefined {
  return readKey(join(dataDir, 'api-key'));
}

/** Returns the key in the data folder that encrypts secrets, generated at the first start; readable as `localKey`. */
export function localSecretsKey(dataDir: string): string {
  const file = join(dataDir, 'secrets-key');
  return readKey(file) ?? writeKey(file, generateSecretsKey());
}

function readKey(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim() || undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return undefined;
  }
}

/** Writes a complete file or none: without the key, everything that it has encrypted is lost. @returns the key in the file */
function writeKey(file: string, key: string): string {
  const whole = `${file}.${process.pid}`;
  writeFileSync(whole, `${key}\n`, { mode: 0o600, flush: true });
  try {
    linkSync(whole, file);
    return key;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const kept = readKey(file);
    if (kept !== undefined) return kept;
    // A crash has left an empty file.
    renameSync(whole, file);
    return key;
  } finally {
    rmSync(whole, { force: true });
  }
}
