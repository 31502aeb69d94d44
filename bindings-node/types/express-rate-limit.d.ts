/**
 * A store for express-rate-limit: `rateLimit({ store: new SluicegateStore(limiter) })`. It counts as that package's own store
 * does, denied requests too, in windows that begin with the first request of a client.
 *
 * Give every `rateLimit` a store with a name of its own: those of the same name and `windowMs` count together.
 */
export class SluicegateStore {
    /**
     * @param {RateLimiter} limiter
     * @param {{ name?: string | undefined }} [options] `name` begins the names of the rules that count. Default:
     *   `express-rate-limit`.
     */
    constructor(limiter: RateLimiter, options?: {
        name?: string | undefined;
    });
    /** @type {string} @readonly By which the package knows that two stores count apart. */
    readonly prefix: string;
    /** @type {boolean} @readonly Other processes count on the same server. */
    readonly localKeys: boolean;
    /**
     * Called by the package, before any request.
     *
     * @param {{ windowMs: number }} options
     */
    init({ windowMs }: {
        windowMs: number;
    }): void;
    /**
     * @param {string} key
     * @returns {Promise<{ totalHits: number, resetTime: Date }>}
     */
    increment(key: string): Promise<{
        totalHits: number;
        resetTime: Date;
    }>;
    /**
     * @param {string} key
     * @returns {Promise<{ totalHits: number, resetTime: Date } | undefined>}
     */
    get(key: string): Promise<{
        totalHits: number;
        resetTime: Date;
    } | undefined>;
    /**
     * @param {string} key
     * @returns {Promise<void>}
     */
    decrement(key: string): Promise<void>;
    /**
     * @param {string} key
     * @returns {Promise<void>}
     */
    resetKey(key: string): Promise<void>;
    #private;
}
import type { RateLimiter } from './index.js';
