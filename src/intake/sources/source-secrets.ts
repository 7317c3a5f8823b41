import type { Database } from '../../base/db/database';
import { requireSecretBox, secretsFault, type SealedSecret, type SecretBox } from '../../base/secret-box';
import {
  hasMask,
  originOf,
  splitSecrets,
  withDefaults,
  type SourceDefinition,
  type SourceSecrets,
} from './source-definition';
import { readStoredSecrets, replaceSecrets, type StoredSource } from './sources.repository';

const noSecrets: SourceSecrets = { headers: {} };

/** Decrypts the secrets of a source, which are bound to its origin. */
export function openSecrets(
  box: SecretBox | undefined,
  origin: string,
  sealed: Buffer | null,
): SourceSecrets | 'unreadable' {
  if (!sealed) return noSecrets;
  const opened = box?.open(sealed, origin);
  return opened === undefined ? 'unreadable' : (JSON.parse(opened) as SourceSecrets);
}

/**
 * Converts a definition as sent to its stored form. A masked secret keeps the stored value for the same origin.
 * @throws validation_error if there are secrets, and no key for them
 */
export function sealDefinition(
  sent: SourceDefinition,
  stored: StoredSource | undefined,
  box: SecretBox | undefined,
): StoredSource {
  const origin = originOf(sent);
  const whole = withDefaults(sent);
  const keepsSecrets = stored !== undefined && originOf(stored.definition) === origin && hasMask(whole);
  const kept = keepsSecrets ? openSecrets(box, origin, stored.secrets) : noSecrets;
  if (kept === 'unreadable') {
    requireSecretBox(box);
    throw secretsFault('The stored secrets cannot be decrypted with SECRETS_KEY: send them again');
  }
  const { definition, secrets } = splitSecrets(whole, kept);
  if (!secrets) return { definition, secrets: null };
  return { definition, secrets: requireSecretBox(box).seal(JSON.stringify(secrets), origin) };
}

/** Lists the encrypted secrets of all sources. */
export async function listSealedSources(db: Database): Promise<SealedSecret[]> {
  return (await readStoredSecrets(db)).map(
    ({ source_id, partner_name, source_name, definition, secrets }) => ({
      owner: `source ${source_name} of ${partner_name}`,
      sealed: secrets,
      context: originOf(definition),
      replace: (sealed) => replaceSecrets(db, source_id, secrets, sealed),
    }),
  );
}
