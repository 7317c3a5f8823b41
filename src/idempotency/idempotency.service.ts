import { createHash } from 'node:crypto';
import type { Knex } from 'knex';
import { stringify } from 'safe-stable-stringify';
import type { Database } from '../db/database';
import { inTransaction, type TransactionKind } from '../db/transaction';
import { idempotencyKeyUsed, idempotentRequestInProgress } from '../shared/errors';
import {
  claimKey,
  findAnswered,
  keepAnswer,
  type AnsweredRequest,
  type IdempotencyKey,
} from './idempotency.repository';
import type { Caller } from '../shared/caller';

/** The body of a response, and whether it is that of an earlier request. */
export interface Outcome<T> {
  responseBody: T;
  replayed: boolean;
}

/**
 * SHA-256 of an operation and a JSON value. The order of members does not count.
 * @param value - as `JSON.parse` gives it; numbers are compared as it reads them
 */
export function digestRequest(operationId: string, value: unknown): Buffer {
  return createHash('sha256')
    .update(stringify([operationId, value]))
    .digest();
}

/**
 * Does `work` unless the same request was answered before, and keeps its answer, all in one transaction: whatever fails
 * or dies on the way, neither is there, and the key is free. Without a key, just does it, in no transaction of ours.
 * @param request - the operation and what was asked of it, as JSON
 * @throws idempotent_request_in_progress, idempotency_key_used; whatever `work` throws
 */
export async function doOnce<T extends object>(
  db: Database,
  key: IdempotencyKey | undefined,
  request: { operationId: string; value: unknown },
  work: (trx?: Knex.Transaction) => Promise<T>,
): Promise<Outcome<T>> {
  if (!key) return { responseBody: await work(), replayed: false };
  const requestDigest = digestRequest(request.operationId, request.value);
  return whileClaimed(db, 'request', key, async (trx) => {
    const answered = await findAnswered(trx, key);
    if (answered) return replay<T>(answered, requestDigest);
    const responseBody = await work(trx);
    await keepAnswer(trx, key, { requestDigest, responseBody });
    return { responseBody, replayed: false };
  });
}

/**
 * Does `work` while no other request with the key is being worked on, here or elsewhere, in the transaction that keeps it
 * so. @throws idempotent_request_in_progress; whatever `work` throws
 */
export function whileClaimed<T>(
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

/** The earlier answer to the same request. @throws idempotency_key_used when it was another one */
export function replay<T extends object>(
  { requestDigest, responseBody }: AnsweredRequest,
  digest: Buffer,
): Outcome<T> {
  if (!requestDigest.equals(digest)) throw idempotencyKeyUsed();
  return { responseBody: responseBody as T, replayed: true };
}

/** The key that a request came with; undefined when it has none. */
export function idempotencyKeyOf(call: {
  caller: Caller;
  headers: { 'Idempotency-Key'?: string };
}): IdempotencyKey | undefined {
  const text = call.headers['Idempotency-Key'];
  return text === undefined ? undefined : { apiKeyDigest: call.caller.keyDigest, text };
}

/** What a response says of its outcome. */
export function replayedHeader({ replayed }: Outcome<unknown>): { 'Idempotent-Replayed'?: 'true' } {
  return replayed ? { 'Idempotent-Replayed': 'true' } : {};
}
