/**
 * Options of `limitedFetch`.
 */
export type LimitedFetchOptions = {
    /**
     * Who is counted. Default: the host of the request.
     */
    key?: string | ((request: Request) => Later<Named>) | undefined;
    /**
     * Default: 1.
     */
    cost?: number | ((request: Request) => Later<number>) | undefined;
    /**
     * The longest wait for room, in milliseconds. Default: 60,000.
     */
    waitMs?: number | undefined;
    /**
     * The longest time for which an answer can stop calls, in milliseconds. Default: an hour.
     */
    maxBlockMs?: number | undefined;
    /**
     * Begins the names of rules that are stated here. Default: `outgoing`.
     */
    name?: string | undefined;
    /**
     * What sends requests. Default: the global one.
     */
    fetch?: typeof fetch | undefined;
};
import { RateLimited } from "./denial.js";
/**
 * Makes a function like `fetch` that waits until its limit admits a call, together with all processes on the same server. An answer
 * with the status 429 or 503 and `Retry-After` blocks its key in all of them for that long; the answer itself is returned as it is.
 * Throws `RateLimited` where there would be no room within `waitMs`.
 *
 * @param {RateLimiter} limiter
 * @param {Stated} limits A rate, a rule, the name of a rule that has `block`, or an array of them; the first is the one that is blocked.
 * @param {LimitedFetchOptions} [given]
 * @returns {typeof fetch}
 */
export function limitedFetch(limiter: RateLimiter, limits: Stated, given?: LimitedFetchOptions): typeof fetch;
import type { Named } from './types.js';
import type { Later } from './types.js';
import type { RateLimiter } from './index.js';
import type { Stated } from './types.js';
export { RateLimited };
