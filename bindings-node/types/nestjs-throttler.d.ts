/**
 * A storage for @nestjs/throttler: `ThrottlerModule.forRoot({ throttlers, storage: new SluicegateThrottlerStorage(limiter) })`. It
 * counts in windows that begin with the first request of a client. A client that exceeds its limit is blocked for `blockDuration`,
 * and then begins anew; with a `blockDuration` of 0 there is no block: every hit is counted, also those that are denied, until the
 * window ends.
 *
 * @implements {ThrottlerStorage}
 */
export class SluicegateThrottlerStorage implements ThrottlerStorage {
    /**
     * @param {RateLimiter} limiter
     * @param {{ name?: string | undefined }} [options] `name` begins the names of the rules that count. Default:
     *   `nestjs-throttler`.
     */
    constructor(limiter: RateLimiter, options?: {
        name?: string | undefined;
    });
    /**
     * Called by the package, for every request.
     *
     * @param {string} key
     * @param {number} ttl The window, in milliseconds.
     * @param {number} limit
     * @param {number} blockDuration In milliseconds; 0: no block.
     * @param {string} throttlerName
     * @returns {ReturnType<ThrottlerStorage['increment']>}
     */
    increment(key: string, ttl: number, limit: number, blockDuration: number, throttlerName: string): ReturnType<ThrottlerStorage["increment"]>;
    #private;
}
import type { ThrottlerStorage } from '@nestjs/throttler';
import type { RateLimiter } from './index.js';
