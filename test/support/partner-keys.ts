import { digestOf, generateKey } from '../../src/keys/key-format';
import { insertKey } from '../../src/keys/keys.repository';
import type { ApiClient } from './api-client';
import type { TestService } from './service';

/** The same service with a new key of the database, limited to a partner if one is given. */
export async function withStoredKey(
  { api, db }: Pick<TestService, 'api' | 'db'>,
  partnerName: string | null,
  keyName = `key of ${partnerName ?? 'everybody'}`,
): Promise<ApiClient> {
  const key = generateKey();
  const isNew = await insertKey(db, {
    key_name: keyName,
    key_digest: digestOf(key),
    partner_name: partnerName,
  });
  if (!isNew) throw new Error(`There is a key named ${keyName} already.`);
  return api.withKey(key);
}
