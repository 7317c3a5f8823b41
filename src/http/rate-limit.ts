import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { rateLimited } from '../base/errors';
import type { Caller } from '../base/caller';

/** Window of the limit: so short that a client can wait for the next one. */
export const rateLimitSeconds = 60;

/** Maximum number of requests of one API key per window, which begins with the first one. */
export interface RateLimit {
  requests: number;
  /** Default: `rateLimitSeconds`. */
  seconds?: number;
}

/** Counts a request of the caller. @throws rate_limited */
export type CountRequest = (caller: Caller) => Promise<void>;

/**
 * Limits the requests of each valid API key to this process.
 * @param limit - absent: no limit
 */
export function limitRate(limit: RateLimit | undefined): CountRequest {
  if (!limit) return () => Promise.resolve();
  const counters = new RateLimiterMemory({
    points: limit.requests,
    duration: limit.seconds ?? rateLimitSeconds,
  });
  return async ({ keyDigest }) => {
    try {
      await counters.consume(keyDigest.toString('base64'));
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal;
      throw rateLimited(Math.max(1, Math.ceil(refusal.msBeforeNext / 1000)));
    }
  };
}
