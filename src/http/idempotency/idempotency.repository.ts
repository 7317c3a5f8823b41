import { createHash } from 'node:crypto';
import type { Knex } from 'knex';
import { changeRows, queryRows, type Database } from '../../base/db/database';
import { lockKeyOf, tryLock, trySharedLock } from '../../base/db/locks';
import { raw, sql, type Sql } from '../../base/db/sql';
import { databaseTimeouts } from '../../base/db/transaction';
import { keepJson, parseJson } from '../../base/exact-json';

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
 * Claims a key for the transaction, by an advisory lock that ends with it.
 * @returns whether no other request has it; later statements see the commit of the last holder
 */
export function claimKey(trx: Knex.Transaction, key: IdempotencyKey): Promise<boolean> {
  return tryLock(trx, 'idempotencyKey', lockNumber(key));
}

export interface KeyedRequest {
  key: IdempotencyKey;
  /** SHA-256 by `digestRequest`. */
  requestDigest: Buffer;
}

/** Whether no other request has the key, and the stored response of an earlier request. */
export interface ClaimRow {
  is_claimed: boolean;
  answered_digest: Buffer | null;
  answered_text: string | null;
}

/**
 * Returns a query that claims keys as `claimKey` does and finds stored responses. It must be a statement of its own, which waits for
 * locks no longer than a request, also after the death of its client: the keys are free then.
 * @param requests - with different keys
 */
export function claimSql(requests: readonly KeyedRequest[]): Sql {
  const locks = requests.map(({ key }) => String(lockKeyOf('idempotencyKey', lockNumber(key))));
  const { apiKeyDigests, texts } = keysOf(requests);
  return sql`
    select is_claimed, request_digest as answered_digest, response_text as answered_text, request_index
    from (select set_config('lock_timeout', '${raw(databaseTimeouts.lockMilliseconds)}', true)) as timeout
    cross join claim_idempotency_keys(
      cast(${locks} as bigint[]), cast(${apiKeyDigests} as bytea[]), cast(${texts} as text[])
    ) with ordinality as claimed (is_claimed, request_digest, response_text, request_index)`;
}

const keysOf = (requests: readonly KeyedRequest[]) => ({
  apiKeyDigests: requests.map(({ key }) => key.apiKeyDigest),
  texts: requests.map(({ key }) => key.text),
});

/**
 * Returns SQL that stores responses for `idempotencyMilliseconds`, in place of expired ones.
 * @param requests - with different keys
 * @param answers - a query with the columns `request_index`, from 1, and `body` (JSON)
 */
export function keepAnswersSql(requests: readonly KeyedRequest[], answers: Sql): Sql {
  const { apiKeyDigests, texts } = keysOf(requests);
  const requestDigests = requests.map(({ requestDigest }) => requestDigest);
  return sql`
    insert into idempotency_keys (api_key_digest, idempotency_key, request_digest, response_body, expires_at)
    select api_key_digest, idempotency_key, request_digest, body,
      clock_timestamp() + ${raw(idempotencyMilliseconds)} * interval '1 millisecond'
    from unnest(cast(${apiKeyDigests} as bytea[]), cast(${texts} as text[]), cast(${requestDigests} as bytea[]))
      with ordinality as keyed (api_key_digest, idempotency_key, request_digest, request_index)
    join (${answers}) as answer using (request_index)
    on conflict (api_key_digest, idempotency_key) do update set
      request_digest = excluded.request_digest, response_body = excluded.response_body, expires_at = excluded.expires_at`;
}

/** Returns whether no transaction claims the key now. */
export function isUnclaimed(db: Database, key: IdempotencyKey): Promise<boolean> {
  // Until the end of the statement, and shared: concurrent checks do not conflict.
  return trySharedLock(db, 'idempotencyKey', lockNumber(key));
}

/** Returns the lock number of a key, with 56 bits: a collision has probability 2^-56. */
function lockNumber({ apiKeyDigest, text }: IdempotencyKey): bigint {
  return createHash('sha256').update(apiKeyDigest).update(text).digest().readBigInt64BE() >> 8n;
}

/** Finds the response to the request with the key; null if there is none, or it has expired. */
export async function findAnswered(db: Database, key: IdempotencyKey): Promise<AnsweredRequest | null> {
  // As text: parsed numbers would lose digits.
  const [row] = await queryRows<{ request_digest: Buffer; response_text: string }>(
    db,
    sql`select request_digest, cast(response_body as text) as response_text from idempotency_keys
     where api_key_digest = ${key.apiKeyDigest} and idempotency_key = ${key.text} and expires_at > now()`,
  );
  return row
    ? { requestDigest: row.request_digest, responseBody: parseJson(row.response_text) as object }
    : null;
}

/** Stores a response as `keepAnswersSql` does. */
export async function keepAnswer(
  trx: Knex.Transaction,
  request: KeyedRequest,
  responseBody: object,
): Promise<void> {
  const answer = sql`select 1 as request_index, cast(${keepJson(responseBody)} as json) as body`;
  await changeRows(trx, keepAnswersSql([request], answer));
}

const deleteExpiredSql = sql`
  delete from idempotency_keys
  where ctid = any (array(
    select ctid from idempotency_keys
    where expires_at <= now() order by expires_at limit ${raw(expiredAnswersPerDelete)} for update skip locked
  ))
`;

/**
 * Deletes expired responses in batches. Safe at any time on any number of processes, which skip each other's rows.
 * @returns their number
 */
export async function deleteExpiredAnswers(db: Database): Promise<number> {
  for (let deleted = 0; ;) {
    const batch = await changeRows(db, deleteExpiredSql);
    deleted += batch;
    if (batch < expiredAnswersPerDelete) return deleted;
  }
}
