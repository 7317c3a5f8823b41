import cluster from 'node:cluster';
import { RateLimiterCluster, RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { RateLimit } from '../config';
import { rateLimited } from '../errors';
import type { Caller } from '../keys/caller';

/** Counts a request of the caller. @throws rate_limited */
export type CountRequest = (caller: Caller) => Promise<void>;

/**
 * Limits the requests of each API key; only valid keys are counted, so there are never more counters than keys.
 * Processes that share a port count together, in the process that started them.
 * @param limit - absent: nobody is limited
 */
export function limitRate(limit: RateLimit | undefined): CountRequest {
  if (!limit) return () => Promise.resolve();
  const Counters = cluster.isWorker ? RateLimiterCluster : RateLimiterMemory;
  const counters = new Counters({ points: limit.requests, duration: limit.seconds });
  return async ({ keyDigest }) => {
    try {
      await counters.consume(keyDigest.toString('base64'));
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal;
      throw rateLimited(Math.max(1, Math.ceil(refusal.msBeforeNext / 1000)));
    }
  };
}
