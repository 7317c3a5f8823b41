import { timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Database } from '../../base/db/database';
import type { Authenticate, Caller } from '../../base/caller';
import { digestOf, isGeneratedKey } from '../../base/key-format';
import { findKeyInUse } from './keys.repository';

/** TTL of the cache of keys: a revoked key works no longer than this. */
const keyCacheMilliseconds = 2_000;

/** Maximum number of entries of that cache, 2 MB. */
const cachedKeysMax = 10_000;

/** Authenticates callers by the keys of the settings and of the database; `onUse` gets the id of a database key. */
export function authenticateAny(
  configuredKeys: readonly string[],
  db: Database,
  onUse: (keyId: number) => void = () => undefined,
): Authenticate {
  const configured = authenticateConfigured(configuredKeys);
  const stored = authenticateStored(db, onUse);
  return async (key) => (await configured(key)) ?? stored(key);
}

/** Authenticates callers by these keys, in constant time. Keeps only digests of the keys. */
export function authenticateConfigured(keys: readonly string[]): Authenticate {
  const known = keys.flatMap((key, index) => {
    const caller: Caller = {
      keyDigest: digestOf(key),
      keyName: `API_KEYS ${index + 1}`,
      isConfigured: true,
      partnerName: null,
      isReadOnly: false,
    };
    // Node decodes a header as Latin-1; clients send that, or UTF-8.
    const utf8 = Buffer.from(key).toString('latin1');
    return [key, utf8].map((sent) => ({ digest: digestOf(sent), caller }));
  });
  return (key) => {
    const given = digestOf(key);
    let found: Caller | undefined;
    for (const { digest, caller } of known) found = timingSafeEqual(digest, given) ? caller : found;
    return Promise.resolve(found);
  };
}

interface CachedKey {
  keyId: number;
  caller: Caller;
  /** In milliseconds since 1970; `Infinity`: never. */
  expiresAt: number;
}

/** Looks up keys in the database, with a cache; by digest, so that the duration reveals nothing about the key. */
function authenticateStored(db: Database, onUse: (keyId: number) => void): Authenticate {
  const cache = new LRUCache<string, { known?: CachedKey }>({
    max: cachedKeysMax,
    ttl: keyCacheMilliseconds,
    ignoreFetchAbort: true,
    fetchMethod: async (hexDigest) => ({ known: await findKey(db, Buffer.from(hexDigest, 'hex')) }),
  });
  return async (key) => {
    // Malformed keys are refused without a query, also while the database is down.
    if (!isGeneratedKey(key)) return undefined;
    const known = (await cache.fetch(digestOf(key).toString('hex')))?.known;
    if (!known || known.expiresAt <= Date.now()) return undefined;
    onUse(known.keyId);
    return known.caller;
  };
}

async function findKey(db: Database, keyDigest: Buffer): Promise<CachedKey | undefined> {
  const key = await findKeyInUse(db, keyDigest);
  if (!key) return undefined;
  const { api_key_id: keyId, key_name: keyName, partner_name: partnerName, is_read_only: isReadOnly } = key;
  return {
    keyId,
    caller: { keyDigest, keyName, isConfigured: false, partnerName, isReadOnly },
    expiresAt: key.expires_at?.getTime() ?? Infinity,
  };
}
