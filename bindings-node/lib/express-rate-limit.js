'use strict';

/** @import { RateLimiter } from './index.js' */

const { hitsOf, storeName, windowsOf } = require('./stores/hits.js');

/**
 * A store for express-rate-limit: `rateLimit({ store: new SluicegateStore(limiter) })`. It counts as that package's own store
 * does, denied requests too, in windows that begin with the first request of a client.
 *
 * Give every `rateLimit` a store with a name of its own: those of the same name and `windowMs` count together.
 */
class SluicegateStore {
  #limiter;
  #ruleOf;
  #windowMs = 60_000;

  /**
   * @param {RateLimiter} limiter
   * @param {{ name?: string | undefined }} [options] `name` begins the names of the rules that count. Default:
   *   `express-rate-limit`.
   */
  constructor(limiter, options) {
    const name = storeName(limiter, options, 'express-rate-limit');
    this.#limiter = limiter;
    this.#ruleOf = windowsOf(limiter, name);
    /** @type {string} @readonly By which the package knows that two stores count apart. */
    this.prefix = name;
    /** @type {boolean} @readonly Other processes count on the same server. */
    this.localKeys = false;
  }

  /**
   * Called by the package, before any request.
   *
   * @param {{ windowMs: number }} options
   */
  init({ windowMs }) {
    this.#windowMs = windowMs;
    this.#ruleOf(windowMs);
  }

  /**
   * @param {string} key
   * @returns {Promise<{ totalHits: number, resetTime: Date }>}
   */
  async increment(key) {
    return infoOf(await this.#limiter.check(this.#rule, key));
  }

  /**
   * @param {string} key
   * @returns {Promise<{ totalHits: number, resetTime: Date } | undefined>}
   */
  async get(key) {
    const info = infoOf(await this.#limiter.peek(this.#rule, key));
    return info.totalHits === 0 ? undefined : info;
  }

  /**
   * @param {string} key
   * @returns {Promise<void>}
   */
  async decrement(key) {
    await this.#limiter.refund(this.#rule, key);
  }

  /**
   * @param {string} key
   * @returns {Promise<void>}
   */
  async resetKey(key) {
    await this.#limiter.reset(this.#rule, key);
  }

  get #rule() {
    return this.#ruleOf(this.#windowMs);
  }
}

function infoOf(decision) {
  const { hits, resetAfterMs } = hitsOf(decision);
  return { totalHits: hits, resetTime: new Date(Date.now() + resetAfterMs) };
}

module.exports = { SluicegateStore };
