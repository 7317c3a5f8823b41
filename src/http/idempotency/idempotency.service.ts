import { createHash } from 'node:crypto';
import type { Knex } from 'knex';
import { stringify } from 'safe-stable-stringify';
import type { Database } from '../../base/db/database';
import { inTransaction, type TransactionKind } from '../../base/db/transaction';
import { idempotencyKeyUsed, idempotentRequestInProgress } from '../../base/errors';
import { parseJson } from '../../base/exact-json';
import {
  claimKey,
  isUnclaimed,
  type AnsweredRequest,
  type ClaimRow,
  type IdempotencyKey,
  type KeyedRequest,
} from './idempotency.repository';
import type { Caller } from '../../base/caller';

/** The body of a response, and whether it is replayed from an earlier request. */
export interface Outcome<T> {
  responseBody: T;
  replayed: boolean;
}

/**
 * Returns the SHA-256 of an operation and a JSON value, independent of the order of members.
 * @param value - a result of `JSON.parse`, with its numbers
 */
export function digestRequest(operationId: string, value: unknown): Buffer {
  return createHash('sha256')
    .update(stringify([operationId, value]))
    .digest();
}

/**
 * Makes a function that refuses a request while this process executes another one with its key.
 * @param execute - claims the key on all processes
 * @returns a function that throws idempotent_request_in_progress; errors of `execute`
 */
export function oncePerKey<Request extends KeyedRequest, T>(
  execute: (request: Request) => Promise<T>,
): (request: Request) => Promise<T> {
  const inProgress = new Set<string>();
  return async (request) => {
    const { apiKeyDigest, text } = request.key;
    const name = `${apiKeyDigest.toString('base64')} ${text}`;
    if (inProgress.has(name)) throw idempotentRequestInProgress();
    inProgress.add(name);
    try {
      return await execute(request);
    } finally {
      inProgress.delete(name);
    }
  };
}

/**
 * Returns the stored response of a claim.
 * @throws idempotent_request_in_progress when the key is not claimed, idempotency_key_used for a different request
 */
export function replayClaim<T extends object>(claim: ClaimRow, requestDigest: Buffer): Outcome<T> {
  const { is_claimed: isClaimed, answered_digest: answeredDigest, answered_text: text } = claim;
  if (!isClaimed || answeredDigest === null || text === null) throw idempotentRequestInProgress();
  return replay<T>({ requestDigest: answeredDigest, responseBody: parseJson(text) as object }, requestDigest);
}

/** Refuses a request early if another one has claimed its key. @throws idempotent_request_in_progress */
export async function requireUnclaimed(db: Database, key: IdempotencyKey | undefined): Promise<void> {
  if (key && !(await isUnclaimed(db, key))) throw idempotentRequestInProgress();
}

/**
 * Runs `work` in a transaction that claims the key, on all processes.
 * @throws idempotent_request_in_progress; errors of `work`
 */
export function withIdempotencyLock<T>(
  db: Database,
  kind: TransactionKind,
  key: IdempotencyKey,
  work: (trx: Knex.Transaction) => Promise<T>,
): Promise<T> {
  return inTransaction(db, kind, async (trx) => {
    if (!(await claimKey(trx, key))) throw idempotentRequestInProgress();
    return work(trx);
  });
}

/** Returns the stored response. @throws idempotency_key_used for a different request */
export function replay<T extends object>(
  { requestDigest, responseBody }: AnsweredRequest,
  digest: Buffer,
): Outcome<T> {
  if (!requestDigest.equals(digest)) throw idempotencyKeyUsed();
  return { responseBody: responseBody as T, replayed: true };
}

export function idempotencyKeyOf(call: {
  caller: Caller;
  headers: { 'Idempotency-Key'?: string };
}): IdempotencyKey | undefined {
  const text = call.headers['Idempotency-Key'];
  return text === undefined ? undefined : { apiKeyDigest: call.caller.keyDigest, text };
}

export function replayedHeader({ replayed }: Outcome<unknown>): { 'Idempotent-Replayed'?: 'true' } {
  return replayed ? { 'Idempotent-Replayed': 'true' } : {};
}
