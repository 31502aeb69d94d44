'use strict';

// A limiter for the tests of an application: in memory, by a clock that tests move, and new for every test.

/** @import { ConnectOptions } from './index.js' */

const { options } = require('./arguments.js');
const { ManualClock } = require('./clock.js');
const { RateLimiter } = require('./limiter.js');

/** The beginning of 2024: windows that are aligned, and those of the calendar but for weeks, begin with the test. */
const START_US = 1_704_067_200_000_000;

const OPTIONS = new Set(['rules', 'followDate']);

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
class TestRateLimiter {
  #rules;
  #followDate;
  #clock = new ManualClock(START_US);
  #limiter;

  /** @param {TestRateLimiterOptions} given */
  constructor(given) {
    const { rules, followDate = false } = options('options', given, OPTIONS);
    this.#rules = rules;
    this.#followDate = followDate;
  }

  /**
   * The limiter of this test.
   *
   * @returns {RateLimiter}
   */
  get limiter() {
    if (this.#limiter === undefined) throw new Error('there is no limiter yet: await reset() before each test');
    return this.#limiter;
  }

  /**
   * What the limiter goes by. It shows the beginning of 2024 when a test begins.
   *
   * @returns {ManualClock}
   */
  get clock() {
    return this.#clock;
  }

  /**
   * Makes a new limiter, which knows nothing of earlier tests, and sets the clock back.
   *
   * @returns {Promise<RateLimiter>}
   */
  async reset() {
    await this.close();
    this.#clock = new ManualClock(START_US);
    const limiter = await RateLimiter.connect('memory://', { rules: this.#rules, clock: this.#clock });
    if (this.#followDate) followDate(limiter, this.#clock);
    this.#limiter = limiter;
    return limiter;
  }

  /**
   * Moves the clock forward.
   *
   * @param {number} ms
   */
  advance(ms) {
    this.#clock.advance(ms);
  }

  /**
   * Closes the limiter.
   *
   * @returns {Promise<void>}
   */
  async close() {
    const limiter = this.#limiter;
    this.#limiter = undefined;
    await limiter?.close();
  }
}

/** Has a clock moved, before every call of a limiter, by as much as `Date` has moved since the last. */
function followDate(limiter, clock) {
  let seen = Date.now();
  const follow = () => {
    const now = Date.now();
    if (now > seen) clock.advance(now - seen);
    seen = now;
  };
  for (const [name, { value: method }] of Object.entries(Object.getOwnPropertyDescriptors(RateLimiter.prototype))) {
    if (name === 'constructor' || typeof method !== 'function') continue;
    limiter[name] = (...given) => {
      follow();
      return method.apply(limiter, given);
    };
  }
}

module.exports = { TestRateLimiter };
