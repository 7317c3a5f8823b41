import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { invalidShape, type ShapeError } from './errors';

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;
const keyBytes = 32;

/** Generates a key in Base64. */
export const generateSecretsKey = () => randomBytes(keyBytes).toString('base64');

/** Tells whether a text is a comma-separated list of keys: 32 bytes each, in Base64. */
export function isSecretsKeyList(text: string): boolean {
  return keysOf(text).every((key) => key.length === keyBytes);
}

const keysOf = (text: string) => text.split(',').map((key) => Buffer.from(key.trim(), 'base64'));

/** Encrypts secrets that the database keeps, with AES-256-GCM. */
export class SecretBox {
  private readonly keys: readonly Buffer[];

  /** @param keyList - keys in Base64, separated by commas; the first one encrypts, all decrypt */
  constructor(keyList: string) {
    this.keys = keysOf(keyList);
  }

  /** Encrypts a text. @param context - its owner; only the same context decrypts it */
  seal(text: string, context: string): Buffer {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv(algorithm, this.keys[0]!, nonce).setAAD(Buffer.from(context));
    const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), encrypted]);
  }

  /** Decrypts what `seal` returned; undefined if no key or another context fits. */
  open(sealed: Buffer, context: string): string | undefined {
    return this.openWith(sealed, context)?.text;
  }

  /**
   * Encrypts what `seal` returned with the first key.
   * @returns 'current' if it is that already; undefined if no key or another context fits
   */
  sealAgain(sealed: Buffer, context: string): Buffer | 'current' | undefined {
    const opened = this.openWith(sealed, context);
    if (!opened) return undefined;
    return opened.place === 0 ? 'current' : this.seal(opened.text, context);
  }

  private openWith(sealed: Buffer, context: string): { text: string; place: number } | undefined {
    const nonce = sealed.subarray(0, nonceBytes);
    const tag = sealed.subarray(nonceBytes, nonceBytes + tagBytes);
    const encrypted = sealed.subarray(nonceBytes + tagBytes);
    for (const [place, key] of this.keys.entries()) {
      try {
        const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes })
          .setAAD(Buffer.from(context))
          .setAuthTag(tag);
        return { text: decipher.update(encrypted, undefined, 'utf8') + decipher.final('utf8'), place };
      } catch {
        // Sealed by another key.
      }
    }
    return undefined;
  }
}

/** A stored secret, for a change of the key. */
export interface SealedSecret {
  /** For people: `source nightly of Acme Outdoor`. */
  owner: string;
  sealed: Buffer;
  context: string;
  /** Replaces it unless it has changed meanwhile. @returns 0 if it has */
  replace: (sealed: Buffer) => Promise<number>;
}

/** Returns the box. @throws validation_error when the service has no key for secrets */
export function requireSecretBox(box: SecretBox | undefined): SecretBox {
  if (!box)
    throw secretsFault('Secrets need the setting SECRETS_KEY of the service: ask its operator to set it');
  return box;
}

/** Makes the error of secrets that cannot be encrypted or decrypted. */
export const secretsFault = (
  msg: string,
  place: Pick<ShapeError, 'loc' | 'input'> = { loc: ['body'], input: null },
) => invalidShape([{ type: 'secrets_key', msg, ...place }]);
