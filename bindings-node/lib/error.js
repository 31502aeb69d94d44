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
  #key;

  static {
    errorOf = (failure) => new SluicegateError(failure);
  }

  /**
   * @private
   * @param {Failure} failure
   */
  constructor({ code, message, retryable, key }) {
    super(message);
    this.#key = key;
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

  /**
   * The names, in Redis, of the keys that a `Server` error is about. Not a property of the error itself: they hold what
   * clients are known by, and loggers print the properties of an error.
   *
   * @returns {string | undefined}
   */
  get key() {
    return this.#key;
  }
}

// On the prototype, as with the built-in errors: not one more property of every error.
Object.defineProperty(SluicegateError.prototype, 'name', {
  value: /** @type {const} */ ('SluicegateError'),
  configurable: true,
  writable: true,
});

/**
 * An error without stack frames, for a call that the event loop settles later: its caller is not on the stack by then, and
 * to collect the loop's frames would take longer than all else about the error.
 *
 * @param {Failure} failure
 */
function errorWithoutStack(failure) {
  const { stackTraceLimit } = Error;
  // Refused where built-in objects are frozen.
  if (!Reflect.set(Error, 'stackTraceLimit', 0)) return errorOf(failure);
  const error = errorOf(failure);
  Error.stackTraceLimit = stackTraceLimit;
  return error;
}

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

module.exports = { SluicegateError, errorOf, errorWithoutStack, invalidArgument, succeeded };
