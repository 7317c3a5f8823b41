import type { Config } from '../../config';
import { localSecretsKey } from '../../base/local-key';
import { SecretBox } from '../../base/secret-box';

/** Makes the box for secrets of `SECRETS_KEY`, or of the generated key of a service without DATABASE_URL. */
export function secretBoxOf({ secretsKey, databaseUrl, dataDir }: Config): SecretBox | undefined {
  const keys = secretsKey ?? (databaseUrl === undefined ? localSecretsKey(dataDir) : undefined);
  return keys === undefined ? undefined : new SecretBox(keys);
}
