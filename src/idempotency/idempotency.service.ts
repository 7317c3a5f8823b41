import { createHash } from 'node:crypto';
import type { Knex } from 'knex';
import { stringify } from 'safe-stable-stringify';
import { isDatabaseUnavailable, type Database } from '../db/database';
import { inTransaction, type TransactionKind } from '../db/transaction';
import { createBatcher, type BatchLimits, type Settled } from '../shared/batcher';
import { idempotencyKeyUsed, idempotentRequestInProgress } from '../shared/errors';
import {
  claimKey,
  claimKeys,
  keepAnswers,
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

/** A request with a key. */
export interface KeyedRequest {
  key: IdempotencyKey;
  /** SHA-256 by `digestRequest`. */
  requestDigest: Buffer;
}

/** Executes requests without a stored response, and returns the outcome of each, in their order. */
type Work<Request, T> = (trx: Knex.Transaction, requests: Request[]) => Promise<Settled<T>[]>;

/**
 * Makes a function that executes requests once per key and stores their responses. Concurrent ones share a transaction.
 * When it fails, each request is executed in a transaction of its own, so that only the failing one is rejected.
 * @returns a function that throws idempotent_request_in_progress, idempotency_key_used; errors of `work`
 */
export function createIdempotentBatcher<Request extends KeyedRequest, T extends object>(
  db: Database,
  limits: BatchLimits<Request>,
  work: Work<Request, T>,
): (request: Request) => Promise<Outcome<T>> {
  const inProgress = new Set<string>();
  const execute = createBatcher(limits, (requests: Request[]) => executeEach(db, requests, work));
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

async function executeEach<Request extends KeyedRequest, T extends object>(
  db: Database,
  requests: Request[],
  work: Work<Request, T>,
): Promise<Settled<Outcome<T>>[]> {
  try {
    return await db.transaction((trx) => executeTogether(trx, requests, work));
  } catch (error) {
    // The outcome is unknown, and a retry would fail too.
    if (isDatabaseUnavailable(error)) throw error;
    if (requests.length === 1) return [{ error }];
  }
  const settled: Settled<Outcome<T>>[] = [];
  for (const request of requests) settled.push(...(await executeEach(db, [request], work)));
  return settled;
}

/** @param requests - with different keys */
async function executeTogether<Request extends KeyedRequest, T extends object>(
  trx: Knex.Transaction,
  requests: Request[],
  work: Work<Request, T>,
): Promise<Settled<Outcome<T>>[]> {
  const claims = await claimKeys(
    trx,
    requests.map(({ key }) => key),
  );
  const added = requests.filter((_, at) => claims[at]!.isClaimed && !claims[at]!.answered);
  const created = added.length > 0 ? await work(trx, added) : [];
  const kept = added.flatMap(({ key, requestDigest }, at) => {
    const one = created[at]!;
    return 'result' in one ? [{ key, requestDigest, responseBody: one.result }] : [];
  });
  if (kept.length > 0) await keepAnswers(trx, kept);
  let next = 0;
  return requests.map((request, at): Settled<Outcome<T>> => {
    const { isClaimed, answered } = claims[at]!;
    if (!isClaimed) return { error: idempotentRequestInProgress() };
    if (answered) return settle(() => replay<T>(answered, request.requestDigest));
    const one = created[next++]!;
    return 'result' in one ? { result: { responseBody: one.result, replayed: false } } : one;
  });
}

function settle<T>(work: () => T): Settled<T> {
  try {
    return { result: work() };
  } catch (error) {
    return { error };
  }
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
