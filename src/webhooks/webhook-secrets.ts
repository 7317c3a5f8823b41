import { randomBytes } from 'node:crypto';
import type { Database } from '../base/db/database';
import type { SealedSecret, SecretBox } from '../base/secret-box';
import { listEndpoints, replaceSealedSecret, type StoredSecrets } from './endpoints.repository';

/** Standard Webhooks requires 24 to 64 bytes. */
const secretBytes = 32;

/** The context of encrypted secrets of webhooks. It names no owner: a merge renames partners. */
const sealContext = 'webhook';

/** Time for which the secret before a rotation stays valid. */
export const previousSecretHours = 24;

/** Generates a secret of Standard Webhooks. */
export const generateWebhookSecret = () => `whsec_${randomBytes(secretBytes).toString('base64')}`;

export const sealWebhookSecret = (box: SecretBox, secret: string): Buffer => box.seal(secret, sealContext);

/**
 * Returns the valid secrets of an endpoint, the newest first.
 * @returns undefined if the newest one cannot be decrypted
 */
export function openSecretsOf(stored: StoredSecrets, box: SecretBox | undefined): string[] | undefined {
  if (stored.secret !== null) return [stored.secret];
  const open = (sealed: Buffer | null) => (sealed ? box?.open(sealed, sealContext) : undefined);
  const newest = open(stored.sealed_secret);
  if (newest === undefined) return undefined;
  const { previous_secret_until: until, previous_sealed_secret: sealed } = stored;
  const previous = until && until > new Date() ? open(sealed) : undefined;
  return previous === undefined ? [newest] : [newest, previous];
}

/** Lists the encrypted secrets of all webhooks of partners, those before the last rotation too. */
export async function listSealedWebhooks(db: Database): Promise<SealedSecret[]> {
  const columns = ['sealed_secret', 'previous_sealed_secret'] as const;
  return (await listEndpoints(db)).flatMap((endpoint) =>
    columns.flatMap((column) => {
      const sealed = endpoint[column];
      if (!sealed) return [];
      return {
        owner:
          `webhook ${endpoint.webhook_name} of ${endpoint.partner_name}` +
          (column === 'sealed_secret' ? '' : ', before its rotation'),
        sealed,
        context: sealContext,
        replace: (again: Buffer) =>
          replaceSealedSecret(db, endpoint.webhook_endpoint_id, column, sealed, again),
      };
    }),
  );
}
