import { RateLimiterCluster, RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { rateLimited, unavailable } from '../shared/errors';
import type { Caller } from '../shared/caller';

/** Timeout of the primary process, which counts requests for all; after it they get 503. */
export const rateLimitMilliseconds = 2_000;

/** Maximum number of requests of one API key per window. */
export interface RateLimit {
  requests: number;
  seconds: number;
}

/** Counts a request of the caller. @throws rate_limited; unavailable when counting fails */
export type CountRequest = (caller: Caller) => Promise<void>;

/**
 * Limits the requests of each valid API key.
 * @param limit - absent: no limit
 * @param sharesPort - the primary process counts for all processes on the port
 */
export function limitRate(limit: RateLimit | undefined, sharesPort = false): CountRequest {
  if (!limit) return () => Promise.resolve();
  const options = { points: limit.requests, duration: limit.seconds };
  const counters = sharesPort
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
