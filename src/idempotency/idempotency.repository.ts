import { createHash } from 'node:crypto';
import type { Knex } from 'knex';
import { queryRows, type Database } from '../db/database';
import { timeoutsSql } from '../db/transaction';
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
export async function claimKey(trx: Knex.Transaction, key: IdempotencyKey): Promise<boolean> {
  const { rows } = await trx.raw<{ rows: [{ is_claimed: boolean }] }>(
    'select pg_try_advisory_xact_lock(?) as is_claimed',
    [String(lockOf(key))],
  );
  return rows[0].is_claimed;
}

/** What is known of a key: whether no other request has it, and the stored response. */
export interface KeyClaim {
  isClaimed: boolean;
  answered: AnsweredRequest | null;
}

/** The timeouts are those of a request. */
const claimKeysSql = `
  select is_claimed, request_digest, response_text
  from (select ${timeoutsSql('request')}) as timeouts
  cross join claim_idempotency_keys(cast(? as bigint[]), cast(? as bytea[]), cast(? as text[]))
`;

/**
 * Claims keys as `claimKey` does, finds the stored responses, and sets the timeouts of the transaction, all in one statement.
 * @param trx - without statements before
 * @param keys - all different
 * @returns claims in their order
 */
export async function claimKeys(trx: Knex.Transaction, keys: readonly IdempotencyKey[]): Promise<KeyClaim[]> {
  const bindings = [
    keys.map((key) => String(lockOf(key))),
    keys.map(({ apiKeyDigest }) => apiKeyDigest),
    keys.map(({ text }) => text),
  ];
  const rows = await queryRows<{ is_claimed: boolean } & AnsweredRow>(
    trx,
    claimKeysSql,
    bindings as Knex.Value[],
    true,
  );
  return rows.map((row) => ({ isClaimed: row.is_claimed, answered: answeredOf(row) }));
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

/** As text: parsed numbers would lose digits. */
interface AnsweredRow {
  request_digest: Buffer | null;
  response_text: string | null;
}

function answeredOf({
  request_digest: requestDigest,
  response_text: text,
}: AnsweredRow): AnsweredRequest | null {
  return requestDigest && text !== null ? { requestDigest, responseBody: parseJson(text) as object } : null;
}

/** Finds the response to the request with the key; null where there is none, or it has expired. */
export async function findAnswered(db: Database, key: IdempotencyKey): Promise<AnsweredRequest | null> {
  const { rows } = await db.raw<{ rows: AnsweredRow[] }>(
    `select request_digest, cast(response_body as text) as response_text from idempotency_keys
     where api_key_digest = ? and idempotency_key = ? and expires_at > now()`,
    [key.apiKeyDigest, key.text],
  );
  return rows[0] ? answeredOf(rows[0]) : null;
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
      answers.map(({ responseBody }) => keepJson(responseBody)),
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
