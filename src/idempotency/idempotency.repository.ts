import { createHash } from 'node:crypto';
import type { Knex } from 'knex';
import { queryRows, type Database } from '../db/database';
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
 * Claims keys for the transaction, by advisory locks that end with it.
 * @param keys - all different
 * @returns of each whether no other request has it; later statements see the commit of the last holder
 */
export async function claimKeys(trx: Knex.Transaction, keys: readonly IdempotencyKey[]): Promise<boolean[]> {
  const rows = await queryRows<{ claimed: boolean }>(
    trx,
    `select pg_try_advisory_xact_lock(lock) as claimed
     from unnest(cast(? as bigint[])) with ordinality as given (lock, position) order by position`,
    [keys.map((key) => String(lockOf(key)))],
    true,
  );
  return rows.map(({ claimed }) => claimed);
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

/** Finds the responses to the requests with these keys, in their order; null where there is none, or it has expired. */
export async function findAnswered(
  db: Database,
  keys: readonly IdempotencyKey[],
): Promise<(AnsweredRequest | null)[]> {
  // As text: parsed numbers would lose digits. The limit makes it a look-up each: a join would scan a table that was never analyzed.
  const rows = await queryRows<{ request_digest: Buffer | null; response_text: string | null }>(
    db,
    `select request_digest, cast(response_body as text) as response_text
     from unnest(cast(? as bytea[]), cast(? as text[])) with ordinality as given (api_key_digest, idempotency_key, position)
     left join lateral (
       select request_digest, response_body from idempotency_keys as stored
       where stored.api_key_digest = given.api_key_digest and stored.idempotency_key = given.idempotency_key
         and expires_at > now()
       limit 1
     ) as answered on true
     order by position`,
    [keys.map(({ apiKeyDigest }) => apiKeyDigest), keys.map(({ text }) => text)] as Knex.Value[],
    true,
  );
  return rows.map(({ request_digest: requestDigest, response_text: text }) =>
    requestDigest && text !== null ? { requestDigest, responseBody: parseJson(text) as object } : null,
  );
}

/** Stores responses for `idempotencyMilliseconds`, in place of expired ones. */
export async function keepAnswers(
  trx: Knex.Transaction,
  answers: readonly (AnsweredRequest & { key: IdempotencyKey })[],
): Promise<void> {
  // Not `now()`, the start of the transaction: an upload can take long.
  await queryRows(
    trx,
    `insert into idempotency_keys (api_key_digest, idempotency_key, request_digest, response_body, expires_at)
     select given.*, clock_timestamp() + ? * interval '1 millisecond'
     from unnest(cast(? as bytea[]), cast(? as text[]), cast(? as bytea[]), cast(? as json[])) as given
     on conflict (api_key_digest, idempotency_key) do update set
       request_digest = excluded.request_digest, response_body = excluded.response_body, expires_at = excluded.expires_at`,
    [
      idempotencyMilliseconds,
      answers.map(({ key }) => key.apiKeyDigest),
      answers.map(({ key }) => key.text),
      answers.map(({ requestDigest }) => requestDigest),
      answers.map(({ responseBody }) => stringifyJson(responseBody)),
    ] as Knex.Value[],
    true,
  );
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
