import { digestOf, generateKey } from '../../src/shared/key-format';
import { insertKey, type NewKey } from '../../src/keys/keys.repository';
import type { ApiClient } from './api-client';
import type { TestService } from './service';

/** The same service with a new key of the database, limited to a partner and otherwise if that is given. */
export async function withStoredKey(
  { api, db }: Pick<TestService, 'api' | 'db'>,
  partnerName: string | null,
  keyName = `key of ${partnerName ?? 'everybody'}`,
  limits: Pick<NewKey, 'is_read_only' | 'expires_at'> = {},
): Promise<ApiClient> {
  const key = generateKey();
  const isNew = await insertKey(db, {
    key_name: keyName,
    key_digest: digestOf(key),
    partner_name: partnerName,
    ...limits,
  });
  if (!isNew) throw new Error(`There is a key named ${keyName} already.`);
  return api.withKey(key);
}
