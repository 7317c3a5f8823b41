import { hash } from 'node:crypto';
import type { Knex } from 'knex';
import { changeRows, queryRows, type Database } from '../../base/db/database';
import { raw, sql } from '../../base/db/sql';
import type { Caller } from '../../base/caller';
import { unauthorized } from '../../base/errors';

export interface ApiKeyRow {
  api_key_id: number;
  key_name: string;
  /** SHA-256 of the key, or of that digest if the key is read-only or expires. */
  key_digest: Buffer;
  /** The partner that the key is limited to; null: none. */
  partner_name: string | null;
  is_read_only: boolean;
  expires_at: Date | null;
  /** To the minute; null: never used. */
  last_used_at: Date | null;
  created_at: Date;
  revoked_at: Date | null;
}

/** A key to create; `key_digest` is the SHA-256 of the key. */
export type NewKey = Pick<ApiKeyRow, 'key_name' | 'key_digest' | 'partner_name'> &
  Partial<Pick<ApiKeyRow, 'is_read_only' | 'expires_at'>>;

/**
 * Returns the digest under which a read-only or expiring key is stored. Release 1.2.0, beside this one or after a rollback, knows
 * neither limit: with another digest it does not find the key, instead of granting full access.
 */
const limitedDigest = (digest: Buffer) => hash('sha256', digest, 'buffer');

/** Creates a key, unless its name is in use. @returns whether it did */
export async function insertKey(db: Database, key: NewKey): Promise<boolean> {
  const { is_read_only = false, expires_at = null, key_digest } = key;
  const isLimited = is_read_only || expires_at !== null;
  const row = {
    ...key,
    is_read_only,
    expires_at,
    key_digest: isLimited ? limitedDigest(key_digest) : key_digest,
  };
  const inserted = await db<ApiKeyRow>('api_keys')
    .insert(row, 'api_key_id')
    .onConflict(db.raw('(key_name) where revoked_at is null'))
    .ignore();
  return inserted.length > 0;
}

/** Lists all keys, revoked ones too, the oldest first. */
export async function listKeys(db: Database): Promise<ApiKeyRow[]> {
  return db<ApiKeyRow>('api_keys').orderBy('api_key_id');
}

export type KeyAccess = Pick<
  ApiKeyRow,
  'api_key_id' | 'key_name' | 'partner_name' | 'is_read_only' | 'expires_at'
>;

const isInUse = raw('revoked_at is null and (expires_at is null or expires_at > now())');

/** Finds a key that is neither revoked nor expired. */
export async function findKeyInUse(db: Database, digest: Buffer): Promise<KeyAccess | undefined> {
  const [key] = await queryRows<KeyAccess>(
    db,
    sql`select api_key_id, key_name, partner_name, is_read_only, expires_at from api_keys
     where key_digest in (${digest}, ${limitedDigest(digest)}) and ${isInUse}`,
    true,
  );
  return key;
}

/**
 * Locks the key of a request until the transaction ends: it is revoked or removed later, or the request is refused. Keys of the
 * settings stay valid until the process ends.
 * @throws unauthorized when the key is no longer in use, or has another limit
 */
export async function requireKeyInUse(
  trx: Knex.Transaction,
  { keyDigest, partnerName, isConfigured }: Caller,
): Promise<void> {
  if (isConfigured) return;
  // Not `now()`: the transaction may be older than the expiry.
  const rows = await queryRows(
    trx,
    sql`select from api_keys
     where key_digest in (${keyDigest}, ${limitedDigest(keyDigest)}) and revoked_at is null
       and (expires_at is null or expires_at > clock_timestamp())
       and partner_name is not distinct from ${partnerName}
     for share`,
  );
  if (rows.length === 0) throw unauthorized();
}

export async function hasKeyInUse(db: Database): Promise<boolean> {
  const statement = sql`select from api_keys where ${isInUse} limit 1`;
  return (await queryRows(db, statement)).length > 0;
}

/** Sets `last_used_at`, at most once a minute per key. Skips rows that another process is writing. */
export async function recordKeyUse(db: Database, keyIds: number[]): Promise<void> {
  await changeRows(
    db,
    sql`update api_keys set last_used_at = now()
     where api_key_id in (
       select api_key_id from api_keys
       where api_key_id = any (${keyIds}) and (last_used_at is null or last_used_at <= now() - interval '1 minute')
       for update skip locked
     )`,
  );
}

/** Revokes the key in use of this name. @returns whether there was one */
export async function revokeKey(db: Database, name: string): Promise<boolean> {
  const revoked = await db<ApiKeyRow>('api_keys')
    .where({ key_name: name, revoked_at: null })
    .update({ revoked_at: db.fn.now() });
  return revoked > 0;
}
