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

/** The body of a response, and whether it is replayed from an earlier request. */
export interface Outcome<T> {
  responseBody: T;
  replayed: boolean;
}

/**
 * Returns the SHA-256 of an operation and a JSON value, whatever the order of members.
 * @param value - a result of `JSON.parse`, with its numbers
 */
export function digestRequest(operationId: string, value: unknown): Buffer {
  return createHash('sha256')
    .update(stringify([operationId, value]))
    .digest();
}

/**
 * Runs `work` once per key and stores its response, in one transaction. Without a key, runs it without a transaction.
 * @param request - the operation and its input, as JSON
 * @throws idempotent_request_in_progress, idempotency_key_used; errors of `work`
 */
export async function executeIdempotently<T extends object>(
  db: Database,
  key: IdempotencyKey | undefined,
  request: { operationId: string; value: unknown },
  work: (trx?: Knex.Transaction) => Promise<T>,
): Promise<Outcome<T>> {
  if (!key) return { responseBody: await work(), replayed: false };
  const requestDigest = digestRequest(request.operationId, request.value);
  return withIdempotencyLock(db, 'request', key, async (trx) => {
    const answered = await findAnswered(trx, key);
    if (answered) return replay<T>(answered, requestDigest);
    const responseBody = await work(trx);
    await keepAnswer(trx, key, { requestDigest, responseBody });
    return { responseBody, replayed: false };
  });
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

/** Returns the stored response. @throws idempotency_key_used when the request is another one */
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
