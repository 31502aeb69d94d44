/**
 * The answer to a `reserve`: a decision and, when it was granted, what is held. Until it is ended it counts in full; what
 * is never ended is charged in full when its lease ends.
 *
 * `await using` commits it as it was reserved at the end of the block, unless the program has tried to end it itself. The
 * language does not tell whether the block ended by an exception, and what was used must not be given back: where nothing
 * was, call `release`. A block that has outlived the lease is a warning of the process.
 *
 * @implements {AsyncDisposable}
 */
export class Reservation implements AsyncDisposable {
    /** @private */
    private constructor();
    /** @type {boolean} @readonly Whether the cost was admitted. */
    readonly allowed: boolean;
    /** @type {string} @readonly The rule that decided. */
    readonly rule: string;
    /** @type {boolean} @readonly Whether any rule applied. */
    readonly ruleApplied: boolean;
    /** @type {number} @readonly The most that the deciding limit admits at once from a key never seen. */
    readonly limit: number;
    /** @type {number} @readonly The time in which `limit` is admitted anew. */
    readonly windowMs: number;
    /** @type {number} @readonly The most cost that would still be admitted now. */
    readonly remaining: number;
    /** @type {number} @readonly The wait after which the same cost may be admitted: an estimate while something is held. */
    readonly retryAfterMs: number;
    /** @type {number} @readonly Time until the key is as if never seen: an estimate while something is held. */
    readonly resetAfterMs: number;
    /** @type {boolean} @readonly Whether the key is blocked. */
    readonly blocked: boolean;
    /** @type {boolean} @readonly Whether replicas have what was reserved, as of a decision. */
    readonly replicated: boolean;
    /** @type {boolean} @readonly Whether nothing but rules in shadow decided. */
    readonly shadow: boolean;
    /** @type {boolean} @readonly True when a rule in shadow would have denied. */
    readonly shadowDenied: boolean;
    /** @type {'server' | 'memory' | 'fallback' | 'cache' | 'lease' | 'allotment' | 'share'} @readonly Who decided. */
    readonly source: "server" | "memory" | "fallback" | "cache" | "lease" | "allotment" | "share";
    /** @type {readonly Decision[]} @readonly One decision per item of a `reserveAll`; empty otherwise. */
    readonly parts: readonly Decision[];
    /**
     * What a limiter of any process and language needs to end the reservation; `undefined` when it was denied or nothing is held.
     *
     * @type {string | undefined}
     * @readonly
     */
    readonly id: string | undefined;
    /**
     * A fencing token: larger than that of every earlier reservation of the same key; `undefined` when denied.
     *
     * @type {number | undefined}
     * @readonly
     */
    readonly token: number | undefined;
    /**
     * Ends the reservation and charges what was really used, also beyond the limit: as much as was reserved, unless
     * `cost` says otherwise. Answers whether it took effect.
     *
     * @param {Usage} [cost]
     * @returns {Promise<boolean>}
     */
    commit(cost?: Usage): Promise<boolean>;
    /**
     * Ends the reservation, of which nothing was used. Answers whether it took effect.
     *
     * @returns {Promise<boolean>}
     */
    release(): Promise<boolean>;
    /**
     * Renews the lease. Answers whether it took effect.
     *
     * @returns {Promise<boolean>}
     */
    renew(): Promise<boolean>;
    /**
     * Commits what was not ended, for `await using`.
     *
     * @returns {Promise<void>}
     */
    [Symbol.asyncDispose](): Promise<void>;
    #private;
}
/**
 * Notes that the program has tried to end a reservation.
 *
 * @type {(reservation: Reservation) => void}
 */
export let endReservation: (reservation: Reservation) => void;
/**
 * After how many milliseconds a reservation ends unless it is renewed; `undefined` where there is nothing to end, or the
 * program has tried to end it.
 *
 * @type {(reservation: Reservation) => number | undefined}
 */
export let leaseOf: (reservation: Reservation) => number | undefined;
/**
 * Makes a reservation; its constructor is not for users.
 *
 * @type {(limiter: RateLimiter, answer: object) => Reservation}
 */
export let makeReservation: (limiter: RateLimiter, answer: object) => Reservation;
import type { Decision } from './index.js';
import type { Usage } from './index.js';
import type { RateLimiter } from './index.js';
