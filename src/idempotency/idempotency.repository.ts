import { createHash } from 'node:crypto';
import type { Knex } from 'knex';
import type { Database } from '../db/database';
import { parseJson, stringifyJson } from '../shared/exact-json';

/** Promised retention of the response to a request with an `Idempotency-Key`. */
export const idempotencyMilliseconds = 24 * 3600 * 1000;

/** Batch size of the clean-up: some ten milliseconds per statement. */
export const expiredAnswersPerDelete = 1_000;

export interface IdempotencyKey {
  /** SHA-256 of the API key, 32 bytes. */
  apiKeyDigest: Buffer;
  text: string;
}

/** The digest of a request and its response. */
export interface AnsweredRequest {
  /** SHA-256, 32 bytes. */
  requestDigest: Buffer;
  responseBody: object;
}

/**
 * Claims the key for the transaction, by an advisory lock that ends with it.
 * @returns whether no other request has it; later statements see the commit of the last holder
 */
export async function claimKey(trx: Knex.Transaction, key: IdempotencyKey): Promise<boolean> {
  const { rows } = await trx.raw<{ rows: { claimed: boolean }[] }>(
    'select pg_try_advisory_xact_lock(?) as claimed',
    [String(lockOf(key))],
  );
  return rows[0]!.claimed;
}

/** Returns whether no transaction claims the key now. */
export async function isUnclaimed(db: Database, key: IdempotencyKey): Promise<boolean> {
  // A shared lock until the end of the statement: concurrent checks do not conflict.
  const { rows } = await db.raw<{ rows: { unclaimed: boolean }[] }>(
    'select pg_try_advisory_xact_lock_shared(?) as unclaimed',
    [String(lockOf(key))],
  );
  return rows[0]!.unclaimed;
}

/** Returns the advisory lock of a key. The low byte is its kind (see `claimRun`); a collision has probability 2^-56. */
function lockOf({ apiKeyDigest, text }: IdempotencyKey): bigint {
  const hash = createHash('sha256').update(apiKeyDigest).update(text).digest();
  return (hash.readBigInt64BE() & ~0xffn) | 2n;
}

/** Finds the response to the request with this key; null when there is none, or it has expired. */
export async function findAnswered(db: Database, key: IdempotencyKey): Promise<AnsweredRequest | null> {
  const row = await db('idempotency_keys')
    .where(columnsOf(key))
    .andWhere('expires_at', '>', db.fn.now())
    // As text: parsed numbers would lose digits.
    .first<{ request_digest: Buffer; response_text: string } | undefined>(
      'request_digest',
      db.raw('cast(response_body as text) as response_text'),
    );
  return row
    ? { requestDigest: row.request_digest, responseBody: parseJson(row.response_text) as object }
    : null;
}

/** Stores a response for `idempotencyMilliseconds`, in place of an expired one. */
export async function keepAnswer(
  trx: Knex.Transaction,
  key: IdempotencyKey,
  { requestDigest, responseBody }: AnsweredRequest,
): Promise<void> {
  // Not `now()`, the start of the transaction: an upload can take long.
  const expiresAt = trx.raw(`clock_timestamp() + ? * interval '1 millisecond'`, [idempotencyMilliseconds]);
  await trx('idempotency_keys')
    .insert({
      ...columnsOf(key),
      request_digest: requestDigest,
      response_body: stringifyJson(responseBody),
      expires_at: expiresAt,
    })
    .onConflict(['api_key_digest', 'idempotency_key'])
    .merge();
}

function columnsOf({ apiKeyDigest, text }: IdempotencyKey): {
  api_key_digest: Buffer;
  idempotency_key: string;
} {
  return { api_key_digest: apiKeyDigest, idempotency_key: text };
}

const deleteExpiredSql = `
  delete from idempotency_keys
  where (api_key_digest, idempotency_key) in (
    select api_key_digest, idempotency_key from idempotency_keys
    where expires_at <= now() order by expires_at limit ? for update skip locked
  )
`;

/**
 * Deletes expired responses in batches. Safe at any time on any number of processes, which skip each other's rows.
 * @returns their number
 */
export async function deleteExpiredAnswers(db: Database): Promise<number> {
  for (let deleted = 0; ;) {
    const { rowCount } = await db.raw<{ rowCount: number }>(deleteExpiredSql, [expiredAnswersPerDelete]);
    deleted += rowCount;
    if (rowCount < expiredAnswersPerDelete) return deleted;
  }
}
