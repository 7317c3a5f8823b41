import { createHash } from 'node:crypto';
import type { Knex } from 'knex';
import type { Database } from '../db/database';
import { parseJson, stringifyJson } from '../shared/exact-json';

/** How long the answer to a request with an `Idempotency-Key` is kept: what the service promises. */
export const idempotencyMilliseconds = 24 * 3600 * 1000;

/** How many answers that are too old one statement removes: it takes some ten milliseconds. */
export const expiredAnswersPerDelete = 1_000;

/** A name that a caller has given to one piece of work. Callers cannot meet each other's names. */
export interface IdempotencyKey {
  /** SHA-256 of the API key, 32 bytes. */
  apiKeyDigest: Buffer;
  /** As it was sent. */
  text: string;
}

/** What a request was answered, and how to know that request again. */
export interface AnsweredRequest {
  /** SHA-256, 32 bytes. */
  requestDigest: Buffer;
  /** Of the 201. */
  responseBody: object;
}

/**
 * Claims the key for the transaction: true when no other request holds it. The claim ends with the transaction, also when
 * the process or the connection dies. What the last holder has committed is seen by every later statement.
 */
export async function claimKey(trx: Knex.Transaction, key: IdempotencyKey): Promise<boolean> {
  const { rows } = await trx.raw<{ rows: { claimed: boolean }[] }>(
    'select pg_try_advisory_xact_lock(?) as claimed',
    [String(lockOf(key))],
  );
  return rows[0]!.claimed;
}

/** Whether no transaction claims the key now. */
export async function isUnclaimed(db: Database, key: IdempotencyKey): Promise<boolean> {
  // Shared, and released with the statement: two that ask do not meet.
  const { rows } = await db.raw<{ rows: { unclaimed: boolean }[] }>(
    'select pg_try_advisory_xact_lock_shared(?) as unclaimed',
    [String(lockOf(key))],
  );
  return rows[0]!.unclaimed;
}

/** The low byte keeps it apart from other locks (see `claimRun`). Two keys meet by one chance in 2^56. */
function lockOf({ apiKeyDigest, text }: IdempotencyKey): bigint {
  const hash = createHash('sha256').update(apiKeyDigest).update(text).digest();
  return (hash.readBigInt64BE() & ~0xffn) | 2n;
}

/** What the request with this key was answered; null when there was none, or too long ago. */
export async function findAnswered(db: Database, key: IdempotencyKey): Promise<AnsweredRequest | null> {
  const row = await db('idempotency_keys')
    .where(columnsOf(key))
    .andWhere('expires_at', '>', db.fn.now())
    // As text: its numbers would lose digits.
    .first<{ request_digest: Buffer; response_text: string } | undefined>(
      'request_digest',
      db.raw('cast(response_body as text) as response_text'),
    );
  return row
    ? { requestDigest: row.request_digest, responseBody: parseJson(row.response_text) as object }
    : null;
}

/** Keeps an answer for `idempotencyMilliseconds` from now, in place of one that is too old. */
export async function keepAnswer(
  trx: Knex.Transaction,
  key: IdempotencyKey,
  { requestDigest, responseBody }: AnsweredRequest,
): Promise<void> {
  // Not `now()`: an upload's transaction may have begun long ago.
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
 * Removes answers that are too old, a batch at a time. Safe at any time, on any number of processes: what another one is
 * about to remove or replace is left to it.
 * @returns how many there were
 */
export async function deleteExpiredAnswers(db: Database): Promise<number> {
  for (let deleted = 0; ;) {
    const { rowCount } = await db.raw<{ rowCount: number }>(deleteExpiredSql, [expiredAnswersPerDelete]);
    deleted += rowCount;
    if (rowCount < expiredAnswersPerDelete) return deleted;
  }
}
