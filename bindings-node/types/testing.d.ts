/**
 * Options of a `TestRateLimiter`.
 */
export type TestRateLimiterOptions = {
    /**
     * As `rules` of `RateLimiter.connect`.
     */
    rules: ConnectOptions["rules"];
    /**
     * Whether the clock goes on as `Date` does: by the fake timers of Jest, vitest, sinon or
     * `node:test`. Default: false: it moves when `advance` is called, or a call waits.
     */
    followDate?: boolean | undefined;
};
/**
 * Options of a `TestRateLimiter`.
 *
 * @typedef {object} TestRateLimiterOptions
 * @property {ConnectOptions['rules']} rules As `rules` of `RateLimiter.connect`.
 * @property {boolean | undefined} [followDate] Whether the clock goes on as `Date` does: by the fake timers of Jest, vitest, sinon or
 *   `node:test`. Default: false: it moves when `advance` is called, or a call waits.
 */
/**
 * Makes limiters in memory for tests, one after the other: `reset` before each test, `close` after the last. An application takes
 * `() => limits.limiter` where it takes a limiter.
 */
export class TestRateLimiter {
    /** @param {TestRateLimiterOptions} given */
    constructor(given: TestRateLimiterOptions);
    /**
     * The limiter of this test.
     *
     * @returns {RateLimiter}
     */
    get limiter(): RateLimiter;
    /**
     * What the limiter goes by. It shows the beginning of 2024 when a test begins.
     *
     * @returns {ManualClock}
     */
    get clock(): ManualClock;
    /**
     * Makes a new limiter, which knows nothing of earlier tests, and sets the clock back.
     *
     * @returns {Promise<RateLimiter>}
     */
    reset(): Promise<RateLimiter>;
    /**
     * Moves the clock forward.
     *
     * @param {number} ms
     */
    advance(ms: number): void;
    /**
     * Closes the limiter.
     *
     * @returns {Promise<void>}
     */
    close(): Promise<void>;
    #private;
}
import type { ConnectOptions } from './index.js';
import { RateLimiter } from "./limiter.js";
import { ManualClock } from "./clock.js";
