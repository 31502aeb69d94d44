'use strict';

/** @import { ThrottlerStorage } from '@nestjs/throttler' */
/** @import { RateLimiter } from './index.js' */

const { hitsOf, storeName, windowsOf } = require('./stores/hits.js');

/**
 * A storage for @nestjs/throttler: `ThrottlerModule.forRoot({ throttlers, storage: new SluicegateThrottlerStorage(limiter) })`. It
 * counts in windows that begin with the first request of a client. A client that exceeds its limit is blocked for `blockDuration`,
 * and then begins anew; with a `blockDuration` of 0 there is no block: every hit is counted, also those that are denied, until the
 * window ends.
 *
 * @implements {ThrottlerStorage}
 */
class SluicegateThrottlerStorage {
  #limiter;
  #name;
  #windows = new Map();

  /**
   * @param {RateLimiter} limiter
   * @param {{ name?: string | undefined }} [options] `name` begins the names of the rules that count. Default:
   *   `nestjs-throttler`.
   */
  constructor(limiter, options) {
    const name = storeName(limiter, options, 'nestjs-throttler');
    this.#limiter = limiter;
    this.#name = name;
  }

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
  async increment(key, ttl, limit, blockDuration, throttlerName) {
    const rule = this.#ruleOf(throttlerName, ttl);
    // A limit of 0 denies every hit; the limiter knows none below 1.
    if (blockDuration <= 0 || limit < 1) return counted(await this.#limiter.check(rule, key), limit);
    const decision = await this.#limiter.check(rule, key, { limit });
    const timeToExpire = seconds(decision.resetAfterMs);
    if (decision.allowed) {
      return { totalHits: limit - decision.remaining, timeToExpire, isBlocked: false, timeToBlockExpire: 0 };
    }
    let blockedMs = decision.retryAfterMs;
    if (!decision.blocked) {
      // After the block, the client begins anew. Both go to the server together; a reset would end a block.
      await Promise.all([this.#limiter.reset(rule, key), this.#limiter.block(rule, key, blockDuration)]);
      blockedMs = blockDuration;
    }
    return { totalHits: limit + 1, timeToExpire, isBlocked: true, timeToBlockExpire: seconds(blockedMs) };
  }

  #ruleOf(throttler, ttl) {
    let ruleOf = this.#windows.get(throttler);
    if (ruleOf === undefined) {
      ruleOf = windowsOf(this.#limiter, `${this.#name}:${throttler}`, { block: {} });
      this.#windows.set(throttler, ruleOf);
    }
    return ruleOf(ttl);
  }
}

/** Without a block of this package's; somebody may have blocked the key by hand. */
function counted(decision, limit) {
  const { hits, resetAfterMs } = hitsOf(decision);
  const isBlocked = !decision.allowed || hits > limit;
  const waitMs = decision.allowed ? resetAfterMs : decision.retryAfterMs;
  return { totalHits: hits, timeToExpire: seconds(resetAfterMs), isBlocked, timeToBlockExpire: isBlocked ? seconds(waitMs) : 0 };
}

function seconds(ms) {
  return Math.ceil(ms / 1000);
}

module.exports = { SluicegateThrottlerStorage };
