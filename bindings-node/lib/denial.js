'use strict';

/** @import { Decision } from './index.js' */

/**
 * Makes one; its constructor is not for users.
 *
 * @type {(ruling: { status?: number, body?: string, decision?: Decision | undefined }) => RateLimited}
 */
let rateLimited;

/**
 * A request is denied: `statusCode` 429. Or it could not be decided: 503, or made no sense: 400. An error handler of the
 * application may answer it.
 */
class RateLimited extends Error {
  static {
    rateLimited = (ruling) => new RateLimited(ruling);
  }

  /**
   * @private
   * @param {{ status?: number, body?: string, decision?: Decision | undefined }} ruling
   */
  constructor({ status, body, decision }) {
    super(JSON.parse(body ?? '{}').detail);
    /** @type {number} @readonly The status of the answer. */
    this.statusCode = status ?? 429;
    /** @type {'RATE_LIMITED' | 'UNDECIDED' | 'INVALID_REQUEST'} @readonly */
    this.code = status === 429 ? 'RATE_LIMITED' : status === 503 ? 'UNDECIDED' : 'INVALID_REQUEST';
    /** @type {Decision | undefined} @readonly The decision; `undefined` where the limiter made none. */
    this.decision = decision;
  }
}

Object.defineProperty(RateLimited.prototype, 'name', { value: 'RateLimited', configurable: true, writable: true });

module.exports = { RateLimited, rateLimited };
