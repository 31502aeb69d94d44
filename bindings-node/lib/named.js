'use strict';

/** @import { RateLimiter } from './index.js' */

/**
 * A limiter, or several by their names.
 *
 * @typedef {RateLimiter | { readonly [name: string]: RateLimiter }} Limiters
 */

/**
 * Each limiter with the labels that tell it from the others: none, if it is the only one.
 *
 * @param {Limiters} limiters
 * @returns {[{ limiter?: string }, RateLimiter][]}
 */
function named(limiters) {
  if (isLimiter(limiters)) return [[{}, limiters]];
  return Object.entries(limiters).map(([limiter, each]) => [{ limiter }, each]);
}

/** @returns {limiters is RateLimiter} */
function isLimiter(/** @type {Limiters} */ limiters) {
  return typeof limiters.metrics === 'function';
}

module.exports = { named };
