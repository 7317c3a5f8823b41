import { RateLimiterCluster, RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { rateLimited, unavailable } from '../shared/errors';
import type { Caller } from '../shared/caller';

/** How long the process that counts requests for the others may take to do so; then they are 503. */
export const rateLimitMilliseconds = 2_000;

/** How many requests one API key may make in a window of time. */
export interface RateLimit {
  requests: number;
  seconds: number;
}

/** Counts a request of the caller. @throws rate_limited; unavailable when it cannot be counted */
export type CountRequest = (caller: Caller) => Promise<void>;

/**
 * Limits the requests of each API key; only valid keys are counted, so there are never more counters than keys.
 * @param limit - absent: nobody is limited
 * @param countsTogether - processes that share a port do, in the process that started them
 */
export function limitRate(limit: RateLimit | undefined, countsTogether = false): CountRequest {
  if (!limit) return () => Promise.resolve();
  const options = { points: limit.requests, duration: limit.seconds };
  const counters = countsTogether
    ? new RateLimiterCluster({ ...options, timeoutMs: rateLimitMilliseconds })
    : new RateLimiterMemory(options);
  return async ({ keyDigest }) => {
    try {
      await counters.consume(keyDigest.toString('base64'));
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw unavailable(refusal);
      throw rateLimited(Math.max(1, Math.ceil(refusal.msBeforeNext / 1000)));
    }
  };
}
