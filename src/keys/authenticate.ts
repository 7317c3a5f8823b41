import { timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Database } from '../db/database';
import { limits } from '../limits';
import type { Authenticate, Caller } from './caller';
import { digestOf, isGeneratedKey } from './key-format';
import { findKeyInUse } from './keys.repository';

/** Knows the callers with the keys of the settings, and those with a key of the database that is in use. */
export function authenticateAny(configuredKeys: readonly string[], db: Database): Authenticate {
  const configured = authenticateConfigured(configuredKeys);
  const stored = authenticateStored(db);
  return async (key) => (await configured(key)) ?? stored(key);
}

/** Knows the callers with these keys, and takes the same time for any wrong key; the keys themselves are not kept. */
export function authenticateConfigured(keys: readonly string[]): Authenticate {
  const callers = keys.map((key, index): Caller => ({
    keyDigest: digestOf(key),
    keyName: `API_KEYS ${index + 1}`,
    partnerName: null,
  }));
  return (key) => {
    const given = digestOf(key);
    let caller: Caller | undefined;
    for (const known of callers) caller = timingSafeEqual(known.keyDigest, given) ? known : caller;
    return Promise.resolve(caller);
  };
}

/**
 * Knows the callers whose key is in the database. An answer is remembered for a moment, which is how long a revoked key
 * may go on working. The look-up is by digest: the time that it takes tells nothing of the key.
 */
function authenticateStored(db: Database): Authenticate {
  const answers = new LRUCache<string, { caller?: Caller }>({
    max: limits.keysRemembered,
    ttl: limits.keyMemoryMilliseconds,
    ignoreFetchAbort: true,
    fetchMethod: async (hexDigest) => ({ caller: await findCaller(db, Buffer.from(hexDigest, 'hex')) }),
  });
  return async (key) => {
    // Whoever guesses is turned away without asking the database, also while that is down.
    if (!isGeneratedKey(key)) return undefined;
    const answer = await answers.fetch(digestOf(key).toString('hex'));
    return answer?.caller;
  };
}

async function findCaller(db: Database, keyDigest: Buffer): Promise<Caller | undefined> {
  const key = await findKeyInUse(db, keyDigest);
  return key ? { keyDigest, keyName: key.key_name, partnerName: key.partner_name } : undefined;
}
