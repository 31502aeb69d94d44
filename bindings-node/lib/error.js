'use strict';

/** @import { Failure } from './types.js' */

/**
 * Makes an error; its constructor is not for users.
 *
 * @type {(failure: Failure) => SluicegateError}
 */
let errorOf;

/** An error of the limiter. A denial is none. */
class SluicegateError extends Error {
  static {
    errorOf = (failure) => new SluicegateError(failure);
  }

  /**
   * @private
   * @param {Failure} failure
   */
  constructor({ code, message, retryable }) {
    super(message);
    /**
     * What went wrong.
     *
     * @readonly
     */
    this.code = code;
    /**
     * Whether the same call may succeed later. After a `Timeout` the first call may have been charged.
     *
     * @readonly
     */
    this.retryable = retryable;
  }
}

// On the prototype, as with the built-in errors: not one more property of every error.
Object.defineProperty(SluicegateError.prototype, 'name', {
  value: /** @type {const} */ ('SluicegateError'),
  configurable: true,
  writable: true,
});

/**
 * The error for an argument of the right type with a value that makes no sense.
 *
 * @param {string} message
 */
function invalidArgument(message) {
  return errorOf({ code: 'InvalidArgument', message, retryable: false });
}

/**
 * What the native part answers with a list, unless it answers with what went wrong.
 *
 * @template Item
 * @param {Item[] | Failure} answer
 */
function succeeded(answer) {
  if (!Array.isArray(answer)) throw errorOf(answer);
  return answer;
}

module.exports = { SluicegateError, errorOf, invalidArgument, succeeded };
