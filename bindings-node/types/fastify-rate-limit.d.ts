/**
 * A store class for @fastify/rate-limit: `app.register(rateLimit, { store: sluicegateStore(limiter) })`. It counts as that package's
 * own stores do, denied requests too, in windows that begin with the first request of a client. Routes with limits of their own count
 * apart. `ban` and `continueExceeding` work; `exponentialBackoff` is refused: a rule with `block` and `factor` does that.
 *
 * @param {RateLimiter} limiter
 * @param {{ name?: string | undefined }} [options] `name` begins the names of the rules that count. Default:
 *   `fastify-rate-limit`.
 * @returns {FastifyRateLimitStoreCtor}
 */
export function sluicegateStore(limiter: RateLimiter, options?: {
    name?: string | undefined;
}): FastifyRateLimitStoreCtor;
import type { RateLimiter } from './index.js';
import type { FastifyRateLimitStoreCtor } from '@fastify/rate-limit';
