import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A check of API keys that takes the same time for any wrong key; the keys themselves are not kept. */
export function keyVerifier(keys: readonly string[]): (key: string) => boolean {
  const digests = keys.map(digest);
  return (key) => {
    const given = digest(key);
    let valid = false;
    for (const known of digests) valid = timingSafeEqual(known, given) || valid;
    return valid;
  };
}

function digest(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

/** The key kept in the data folder, generated at the first start. Only our own account can read the file. */
export function localKey(dataDir: string): string {
  const file = join(dataDir, 'api-key');
  try {
    const key = readFileSync(file, 'utf8').trim();
    if (key) return key;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const key = randomBytes(24).toString('base64url');
  writeFileSync(file, `${key}\n`, { mode: 0o600 });
  return key;
}
