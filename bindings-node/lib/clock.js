'use strict';

const { number } = require('./arguments.js');
const { invalidArgument } = require('./error.js');
const { NativeClock } = require('./native.js');

/** The latest time of a clock, in microseconds: whole numbers are exact up to here. */
const LATEST = 2 ** 53;

/**
 * The clock as the native part has it.
 *
 * @type {(clock: ManualClock) => object}
 */
let nativeOf;

/**
 * A clock that moves only when `advance` is called, for testing an application's limits without waiting.
 * With it a limiter on Redis passes the time to its scripts.
 */
class ManualClock {
  #native;

  static {
    nativeOf = (clock) => clock.#native;
  }

  /**
   * A clock that shows `nowUs` microseconds since 1970. Default: 0.
   *
   * @param {number} [nowUs]
   */
  constructor(nowUs = 0) {
    this.#native = new NativeClock(time(nowUs));
  }

  /**
   * What the clock shows, in microseconds since 1970.
   *
   * @returns {number}
   */
  get nowUs() {
    return this.#native.nowUs;
  }

  /**
   * Moves the clock forward, by whole microseconds; it stops at 2^53 of them.
   *
   * @param {number} ms
   */
  advance(ms) {
    if (!(number('ms', ms) >= 0)) throw invalidArgument('ms must be 0 or more');
    this.#native.advance(Math.round(ms * 1000));
  }

  /**
   * Sets the clock, also backwards.
   *
   * @param {number} nowUs
   */
  set(nowUs) {
    this.#native.set(time(nowUs));
  }
}

/** A time that a clock can show. Its name in messages is that of every language. */
function time(nowUs) {
  if (!(Number.isInteger(number('nowUs', nowUs)) && nowUs >= 0 && nowUs <= LATEST)) {
    throw invalidArgument(`now_us ${nowUs}: must be a whole number from 0 to 2^53`);
  }
  return nowUs;
}

module.exports = { ManualClock, nativeOf };
