'use strict';

/** @import { FastifyRateLimitStore, FastifyRateLimitStoreCtor } from '@fastify/rate-limit' */
/** @import { RateLimiter } from './index.js' */

const { invalidArgument } = require('./error.js');
const { hitsOf, storeName, windowsOf } = require('./stores/hits.js');

/**
 * A store class for @fastify/rate-limit: `app.register(rateLimit, { store: sluicegateStore(limiter) })`. It counts as that package's
 * own stores do, denied requests too, in windows that begin with the first request of a client. Routes with limits of their own count
 * apart. `ban` and `continueExceeding` work; `exponentialBackoff` is refused: a rule with `block` and `factor` does that.
 *
 * @param {RateLimiter} limiter
 * @param {{ name?: string | undefined }} [options] `name` begins the names of the rules that count. Default:
 *   `fastify-rate-limit`.
 * @returns {FastifyRateLimitStoreCtor}
 */
function sluicegateStore(limiter, options) {
  const name = storeName(limiter, options, 'fastify-rate-limit');
  /** @type {any} */
  const store = class extends SluicegateStore {
    constructor(options) {
      super(limiter, name, options);
    }
  };
  return store;
}

class SluicegateStore {
  #limiter;
  #name;
  #ruleOf;
  #continueExceeding;

  constructor(limiter, name, { continueExceeding = false, exponentialBackoff = false }) {
    if (exponentialBackoff) {
      throw invalidArgument('exponentialBackoff: is not a part of this store (use a rule with `block` and its `factor`, at the route)');
    }
    this.#limiter = limiter;
    this.#name = name;
    this.#ruleOf = windowsOf(limiter, name);
    this.#continueExceeding = continueExceeding;
  }

  incr(key, callback, timeWindow, max) {
    answer(this.#hit(this.#ruleOf(timeWindow), String(key), timeWindow, max), callback);
  }

  read(key, callback, timeWindow) {
    answer(this.#limiter.peek(this.#ruleOf(timeWindow), String(key)).then(stateOf), callback);
  }

  /** The store of a route. */
  child(options) {
    const { method = '', url = '' } = options.routeInfo ?? {};
    return new SluicegateStore(this.#limiter, `${this.#name}:${[method].flat().join(',')}${url}`, options);
  }

  async #hit(rule, key, timeWindow, max) {
    const state = stateOf(await this.#limiter.check(rule, key));
    if (!this.#continueExceeding || state.current <= max) return state;
    // The window begins anew, with the same hits. Both go to the server together.
    const { current } = state;
    await Promise.all([this.#limiter.reset(rule, key), this.#limiter.charge(rule, key, { cost: current })]);
    return { current, ttl: timeWindow };
  }
}

function stateOf(decision) {
  const { hits, resetAfterMs } = hitsOf(decision);
  return { current: hits, ttl: Math.ceil(resetAfterMs) };
}

/** What a callback throws is no error of the store. */
function answer(promise, callback) {
  promise.then(
    (state) => process.nextTick(callback, null, state),
    (error) => process.nextTick(callback, error, null),
  );
}

module.exports = { sluicegateStore };
