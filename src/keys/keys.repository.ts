import type { Database } from '../db/database';

/** A row of `api_keys`. */
export interface ApiKeyRow {
  api_key_id: number;
  key_name: string;
  /** 32 bytes. */
  key_digest: Buffer;
  /** The partner that the key is limited to. */
  partner_name: string | null;
  created_at: Date;
  revoked_at: Date | null;
}

/** Creates a key, unless one of that name is in use. @returns whether it did */
export async function insertKey(
  db: Database,
  key: Pick<ApiKeyRow, 'key_name' | 'key_digest' | 'partner_name'>,
): Promise<boolean> {
  const inserted = await db<ApiKeyRow>('api_keys')
    .insert(key, 'api_key_id')
    .onConflict(db.raw('(key_name) where revoked_at is null'))
    .ignore();
  return inserted.length > 0;
}

/** All keys, revoked ones too, the oldest first. */
export async function listKeys(db: Database): Promise<ApiKeyRow[]> {
  return db<ApiKeyRow>('api_keys').orderBy('api_key_id');
}

/** The key in use with this digest; null when there is none. */
export async function findKeyInUse(db: Database, digest: Buffer): Promise<ApiKeyRow | null> {
  return (await db<ApiKeyRow>('api_keys').where({ key_digest: digest, revoked_at: null }).first()) ?? null;
}

/** Whether any key can be used. */
export async function hasKeyInUse(db: Database): Promise<boolean> {
  return (await db<ApiKeyRow>('api_keys').where({ revoked_at: null }).first('api_key_id')) !== undefined;
}

/** Revokes the key of this name that is in use. @returns whether there was one */
export async function revokeKey(db: Database, name: string): Promise<boolean> {
  const revoked = await db<ApiKeyRow>('api_keys')
    .where({ key_name: name, revoked_at: null })
    .update({ revoked_at: db.fn.now() });
  return revoked > 0;
}
