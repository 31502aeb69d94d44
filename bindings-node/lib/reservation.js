'use strict';

/** @import { Decision, RateLimiter, Usage } from './index.js' */

/** Only limiters make reservations. */
const INTERNAL = Symbol('internal');

/**
 * Makes a reservation; its constructor is not for users.
 *
 * @type {(limiter: RateLimiter, answer: object) => Reservation}
 */
let makeReservation;

/**
 * Notes that the program has tried to end a reservation.
 *
 * @type {(reservation: Reservation) => void}
 */
let endReservation;

/**
 * After how many milliseconds a reservation ends unless it is renewed; `undefined` where there is nothing to end, or the
 * program has tried to end it.
 *
 * @type {(reservation: Reservation) => number | undefined}
 */
let leaseOf;

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
class Reservation {
  #limiter;
  #isOver;
  #leaseMs;

  /** @private */
  constructor(internal, limiter, { decision, id, token, leaseMs }) {
    if (internal !== INTERNAL) throw new TypeError('use limiter.reserve(rule, key)');
    this.#limiter = limiter;
    this.#isOver = id === undefined || id === null;
    this.#leaseMs = leaseMs;
    const { allowed, rule, ruleApplied, limit, windowMs, remaining, retryAfterMs, resetAfterMs } = decision;
    /** @type {boolean} @readonly Whether the cost was admitted. */
    this.allowed = allowed;
    /** @type {string} @readonly The rule that decided. */
    this.rule = rule;
    /** @type {boolean} @readonly Whether any rule applied. */
    this.ruleApplied = ruleApplied;
    /** @type {number} @readonly The most that the deciding limit admits at once from a key never seen. */
    this.limit = limit;
    /** @type {number} @readonly The time in which `limit` is admitted anew. */
    this.windowMs = windowMs;
    /** @type {number} @readonly The most cost that would still be admitted now. */
    this.remaining = remaining;
    /** @type {number} @readonly The wait after which the same cost may be admitted: an estimate while something is held. */
    this.retryAfterMs = retryAfterMs;
    /** @type {number} @readonly Time until the key is as if never seen: an estimate while something is held. */
    this.resetAfterMs = resetAfterMs;
    /** @type {boolean} @readonly Whether the key is blocked. */
    this.blocked = decision.blocked;
    /** @type {boolean} @readonly Whether replicas have what was reserved, as of a decision. */
    this.replicated = decision.replicated;
    /** @type {boolean} @readonly Whether nothing but rules in shadow decided. */
    this.shadow = decision.shadow;
    /** @type {boolean} @readonly True when a rule in shadow would have denied. */
    this.shadowDenied = decision.shadowDenied;
    /** @type {'server' | 'memory' | 'fallback' | 'cache' | 'lease' | 'allotment' | 'share'} @readonly Who decided. */
    this.source = decision.source;
    /** @type {readonly Decision[]} @readonly One decision per item of a `reserveAll`; empty otherwise. */
    this.parts = decision.parts;
    /**
     * What a limiter of any process and language needs to end the reservation; `undefined` when it was denied or nothing is held.
     *
     * @type {string | undefined}
     * @readonly
     */
    this.id = id ?? undefined;
    /**
     * A fencing token: larger than that of every earlier reservation of the same key; `undefined` when denied.
     *
     * @type {number | undefined}
     * @readonly
     */
    this.token = token ?? undefined;
  }

  static {
    makeReservation = (limiter, answer) => new Reservation(INTERNAL, limiter, answer);
    endReservation = (reservation) => {
      reservation.#isOver = true;
    };
    leaseOf = (reservation) => (reservation.#isOver ? undefined : reservation.#leaseMs);
  }

  /**
   * Ends the reservation and charges what was really used, also beyond the limit: as much as was reserved, unless
   * `cost` says otherwise. Answers whether it took effect.
   *
   * @param {Usage} [cost]
   * @returns {Promise<boolean>}
   */
  async commit(cost) {
    return this.#limiter.commit(this, cost);
  }

  /**
   * Ends the reservation, of which nothing was used. Answers whether it took effect.
   *
   * @returns {Promise<boolean>}
   */
  async release() {
    return this.#limiter.release(this);
  }

  /**
   * Renews the lease. Answers whether it took effect.
   *
   * @returns {Promise<boolean>}
   */
  async renew() {
    return this.#limiter.renew(this);
  }

  /**
   * Commits what was not ended, for `await using`.
   *
   * @returns {Promise<void>}
   */
  async [Symbol.asyncDispose]() {
    if (!this.#isOver && !(await this.commit())) warnLost(this);
  }
}

/** @param {Reservation} held */
function warnLost({ rule }) {
  process.emitWarning(
    `the lease of a reservation under rule "${rule}" was over, or it was ended elsewhere, before its block ended: others may have ` +
      'run at the same time (reserve with renewed: true if it was not, or raise lease_seconds)',
  );
}

module.exports = { Reservation, endReservation, leaseOf, makeReservation };
