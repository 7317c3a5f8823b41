import { partnerNotAllowed, readOnlyKey } from './errors';

/** The API key of a request. */
export interface Caller {
  /** SHA-256 of the key, 32 bytes; not secret. */
  keyDigest: Buffer;
  keyName: string;
  /** Whether it is a key of the settings (`API_KEYS`). */
  isConfigured: boolean;
  /** The only partner that the key has access to; null: all partners. */
  partnerName: string | null;
  isReadOnly: boolean;
}

/** The partner whose data may be accessed; null: all partners. */
export type PartnerScope = Caller['partnerName'];

/** Returns the caller of a key; undefined for an invalid one. @throws errors of the database */
export type Authenticate = (key: string) => Promise<Caller | undefined>;

/** The key of a request in progress. It is checked every two seconds: it may be revoked, expire or be removed. */
export interface KeyInUse {
  /** Returns whether the last check found the key invalid; starts another check if that one is old. */
  isGone(): boolean;
  /** @throws unauthorized; errors of the database */
  requireInUse(): Promise<void>;
}

/** Returns the name under which a key requests runs; all keys of the settings share one. */
export function requesterName({ keyName, isConfigured }: Caller): string {
  return isConfigured ? 'api-keys' : keyName;
}

/** @throws read_only_key when the key may only read */
export function requireWriteAccess({ isReadOnly }: Caller): void {
  if (isReadOnly) throw readOnlyKey();
}

/** @throws partner_not_allowed when the scope is another partner's */
export function requirePartner(scope: PartnerScope, partnerName: string): void {
  if (scope !== null && scope !== partnerName) throw partnerNotAllowed(scope);
}

/** @throws partner_not_allowed when the key is limited to a partner */
export function requireAllPartners({ partnerName }: Caller): void {
  if (partnerName !== null) throw partnerNotAllowed(partnerName);
}

/** The names by which `ConcurrencyLimit` counts shares. */
interface LimitHolder {
  holder: string;
  group: string;
}

/**
 * Returns the holder of a request: the partner of the key, or else the key with the partner of the request.
 * @param partner - name or number; absent: unknown or none
 */
export function holderOf({ keyDigest, partnerName }: Caller, partner?: string | number): LimitHolder {
  const group = partnerName === null ? `key ${keyDigest.toString('hex')}` : `partner ${partnerName}`;
  return { holder: partnerName === null ? JSON.stringify([group, partner]) : group, group };
}
