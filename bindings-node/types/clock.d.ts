/**
 * A clock that moves only when `advance` is called, for testing an application's limits without waiting.
 * With it a limiter on Redis passes the time to its scripts.
 */
export class ManualClock {
    /**
     * A clock that shows `nowUs` microseconds since 1970. Default: 0.
     *
     * @param {number} [nowUs]
     */
    constructor(nowUs?: number);
    /**
     * What the clock shows, in microseconds since 1970.
     *
     * @returns {number}
     */
    get nowUs(): number;
    /**
     * Moves the clock forward, by whole microseconds; it stops at 2^53 of them.
     *
     * @param {number} ms
     */
    advance(ms: number): void;
    /**
     * Sets the clock, also backwards.
     *
     * @param {number} nowUs
     */
    set(nowUs: number): void;
    #private;
}
/**
 * The clock as the native part has it.
 *
 * @type {(clock: ManualClock) => object}
 */
export let nativeOf: (clock: ManualClock) => object;
