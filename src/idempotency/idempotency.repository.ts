import { createHash } from 'node:crypto';
import type { Knex } from 'knex';
import { queryRows, type Database } from '../db/database';
import { lockKeyOf, tryLock, trySharedLock } from '../db/locks';
import { databaseTimeouts } from '../db/transaction';
import { keepJson, parseJson } from '../shared/exact-json';

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

/** A request with a key. */
export interface KeyedRequest {
  key: IdempotencyKey;
  /** SHA-256 by `digestRequest`. */
  requestDigest: Buffer;
}

/** Whether no other request has the key, and what is stored of an earlier one. */
export interface ClaimRow {
  is_claimed: boolean;
  answered_digest: Buffer | null;
  answered_text: string | null;
}

/**
 * The query, for a statement of one's own, that claims keys as `claimKey` does and finds stored responses. Its statement waits for locks
 * no longer than a request, also after the death of its client: the keys are free then. The bindings are those of `claimBindings`.
 */
export const claimSql = `
  select is_claimed, request_digest as answered_digest, response_text as answered_text, request_index
  from (select set_config('lock_timeout', '${databaseTimeouts.lockMilliseconds}', true)) as timeout
  cross join claim_idempotency_keys(cast(? as bigint[]), cast(? as bytea[]), cast(? as text[]))
    with ordinality as claimed (is_claimed, request_digest, response_text, request_index)
`;

/**
 * The statement, or part of one, that stores responses for `idempotencyMilliseconds`, in place of expired ones.
 * @param answers - a query with the columns `request_index`, from 1, and `body` (JSON)
 */
export const keepAnswersSql = (answers: string) => `
  insert into idempotency_keys (api_key_digest, idempotency_key, request_digest, response_body, expires_at)
  select api_key_digest, idempotency_key, request_digest, body, clock_timestamp() + ${idempotencyMilliseconds} * interval '1 millisecond'
  from unnest(cast(? as bytea[]), cast(? as text[]), cast(? as bytea[]))
    with ordinality as keyed (api_key_digest, idempotency_key, request_digest, request_index)
  join (${answers}) as answer using (request_index)
  on conflict (api_key_digest, idempotency_key) do update set
    request_digest = excluded.request_digest, response_body = excluded.response_body, expires_at = excluded.expires_at`;

/** Returns the bindings of `claimSql` and of `keepAnswersSql`. @param requests - with different keys */
export function claimBindings(requests: readonly KeyedRequest[]): { claims: unknown[]; kept: unknown[] } {
  const apiKeyDigests = requests.map(({ key }) => key.apiKeyDigest);
  const texts = requests.map(({ key }) => key.text);
  return {
    claims: [
      requests.map(({ key }) => String(lockKeyOf('idempotencyKey', lockNumber(key)))),
      apiKeyDigests,
      texts,
    ],
    kept: [apiKeyDigests, texts, requests.map(({ requestDigest }) => requestDigest)],
  };
}

/** Returns whether no transaction claims the key now. */
export function isUnclaimed(db: Database, key: IdempotencyKey): Promise<boolean> {
  // Until the end of the statement, and shared: concurrent checks do not conflict.
  return trySharedLock(db, 'idempotencyKey', lockNumber(key));
}

/** Returns the number of the lock of a key, of 56 bits: a collision has probability 2^-56. */
function lockNumber({ apiKeyDigest, text }: IdempotencyKey): bigint {
  return createHash('sha256').update(apiKeyDigest).update(text).digest().readBigInt64BE() >> 8n;
}

/** Finds the response to the request with the key; null where there is none, or it has expired. */
export async function findAnswered(db: Database, key: IdempotencyKey): Promise<AnsweredRequest | null> {
  // As text: parsed numbers would lose digits.
  const { rows } = await db.raw<{ rows: { request_digest: Buffer; response_text: string }[] }>(
    `select request_digest, cast(response_body as text) as response_text from idempotency_keys
     where api_key_digest = ? and idempotency_key = ? and expires_at > now()`,
    [key.apiKeyDigest, key.text],
  );
  if (!rows[0]) return null;
  const { request_digest: requestDigest, response_text: text } = rows[0];
  return { requestDigest, responseBody: parseJson(text) as object };
}

/** Stores a response as `keepAnswersSql` says. */
export async function keepAnswer(
  trx: Knex.Transaction,
  request: KeyedRequest,
  responseBody: object,
): Promise<void> {
  const bindings = [...claimBindings([request]).kept, keepJson(responseBody)];
  await queryRows(trx, { sql: keepOneSql, bindings: bindings as Knex.Value[] });
}

const keepOneSql = keepAnswersSql('select 1 as request_index, cast(? as json) as body');

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
