import { partnerNotAllowed, readOnlyKey } from './errors';

/** Who sends a request: the API key that it came with. */
export interface Caller {
  /** SHA-256 of the key, 32 bytes: it tells keys apart, and is no secret. */
  keyDigest: Buffer;
  /** For people and logs. */
  keyName: string;
  /** The partner that the key is limited to; null when it may see and do everything. */
  partnerName: string | null;
  /** Whether the key may only read. */
  isReadOnly: boolean;
}

/** Whose data may be seen: those of the partner of this name; null: everybody's. */
export type PartnerScope = Caller['partnerName'];

/**
 * Finds out who sends a request; undefined when the key is not a valid one.
 * @throws whatever the database throws
 */
export type Authenticate = (key: string) => Promise<Caller | undefined>;

/** @throws read_only_key when the key may only read */
export function requireWriteAccess({ isReadOnly }: Caller): void {
  if (isReadOnly) throw readOnlyKey();
}

/** @throws partner_not_allowed when the scope is another partner's */
export function requirePartner(scope: PartnerScope, partnerName: string): void {
  if (scope !== null && scope !== partnerName) throw partnerNotAllowed(scope);
}

/** Who shares limits with others: names to count by, see `ConcurrencyLimit`. */
interface LimitHolder {
  holder: string;
  group: string;
}

/**
 * The holder that a request counts for: the partner that the key is limited to, or else the key and the partner that the
 * request names or concerns.
 * @param partner - its name or number; absent: not known yet, or none
 */
export function holderOf({ keyDigest, partnerName }: Caller, partner?: string | number): LimitHolder {
  const group = partnerName === null ? `key ${keyDigest.toString('hex')}` : `partner ${partnerName}`;
  return { holder: partnerName === null ? JSON.stringify([group, partner]) : group, group };
}
