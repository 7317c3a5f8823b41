import { timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Database } from '../db/database';
import type { Authenticate, Caller } from '../shared/caller';
import { digestOf, isGeneratedKey } from '../shared/key-format';
import { findKeyInUse } from './keys.repository';

/** How long a process remembers what the database said of a key: a revoked one works no longer than that. */
const keyMemoryMilliseconds = 2_000;

/** Of how many keys: 2 MB. */
const keysRemembered = 10_000;

/**
 * Knows the callers with the keys of the settings, and those with a key of the database that is in use.
 * @param onUse - called with the number of a key of the database each time that it is used
 */
export function authenticateAny(
  configuredKeys: readonly string[],
  db: Database,
  onUse: (keyId: number) => void = () => undefined,
): Authenticate {
  const configured = authenticateConfigured(configuredKeys);
  const stored = authenticateStored(db, onUse);
  return async (key) => (await configured(key)) ?? stored(key);
}

/** Knows the callers with these keys, and takes the same time for any wrong key; the keys themselves are not kept. */
export function authenticateConfigured(keys: readonly string[]): Authenticate {
  const callers = keys.map((key, index): Caller => ({
    keyDigest: digestOf(key),
    keyName: `API_KEYS ${index + 1}`,
    partnerName: null,
    isReadOnly: false,
  }));
  return (key) => {
    const given = digestOf(key);
    let caller: Caller | undefined;
    for (const known of callers) caller = timingSafeEqual(known.keyDigest, given) ? known : caller;
    return Promise.resolve(caller);
  };
}

/** What a process remembers of a key. */
interface KeyInUse {
  keyId: number;
  caller: Caller;
  /** In milliseconds since 1970; `Infinity`: never. */
  expiresAt: number;
}

/**
 * Knows the callers whose key is in the database. An answer is remembered for a moment, which is how long a revoked key
 * may go on working. The look-up is by digest: the time that it takes tells nothing of the key.
 */
function authenticateStored(db: Database, onUse: (keyId: number) => void): Authenticate {
  const answers = new LRUCache<string, { known?: KeyInUse }>({
    max: keysRemembered,
    ttl: keyMemoryMilliseconds,
    ignoreFetchAbort: true,
    fetchMethod: async (hexDigest) => ({ known: await findKey(db, Buffer.from(hexDigest, 'hex')) }),
  });
  return async (key) => {
    // A guess is refused without asking the database, also while that is down.
    if (!isGeneratedKey(key)) return undefined;
    const known = (await answers.fetch(digestOf(key).toString('hex')))?.known;
    if (!known || known.expiresAt <= Date.now()) return undefined;
    onUse(known.keyId);
    return known.caller;
  };
}

async function findKey(db: Database, keyDigest: Buffer): Promise<KeyInUse | undefined> {
  const key = await findKeyInUse(db, keyDigest);
  if (!key) return undefined;
  const { api_key_id: keyId, key_name: keyName, partner_name: partnerName, is_read_only: isReadOnly } = key;
  return {
    keyId,
    caller: { keyDigest, keyName, partnerName, isReadOnly },
    expiresAt: key.expires_at?.getTime() ?? Infinity,
  };
}
