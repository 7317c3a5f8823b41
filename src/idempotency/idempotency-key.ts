import type { IdempotencyKey } from './idempotency.repository';
import type { Outcome } from './idempotency.service';
import type { Caller } from '../shared/caller';

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
