'use strict';

/** @import { Failure } from './types.js' */

/**
 * Makes an error; its constructor is not for users.
 *
 * @type {(failure: Failure) => SluicegateError}
 */
let errorOf;

/**
 * Makes one of the wrong type of an argument.
 *
 * @type {(message: string) => WrongTypeError}
 */
let ofWrongType;

/** An error of the limiter. A denial is none. */
class SluicegateError extends Error {
  #key;

  static {
    errorOf = (failure) => new SluicegateError(failure);
  }

  /**
   * @protected
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
  value: /** @type {'SluicegateError' | 'WrongTypeError'} */ ('SluicegateError'),
  configurable: true,
  writable: true,
});

/** An argument has the wrong type. The message names the argument, what it has to be, and what it is. */
class WrongTypeError extends SluicegateError {
  static {
    ofWrongType = (message) => new WrongTypeError(message);
  }

  /**
   * @private
   * @param {string} message
   */
  constructor(message) {
    super({ code: 'InvalidArgument', message, retryable: false });
  }
}

Object.defineProperty(WrongTypeError.prototype, 'name', {
  value: /** @type {const} */ ('WrongTypeError'),
  configurable: true,
  writable: true,
});

/**
 * What to resolve the promise of a call with that fails when its caller is not on the stack any more. The error is made when
 * the promise follows this one: V8 then finds who awaits it, and puts these functions in the stack of the error.
 *
 * @param {Failure} failure
 * @returns {Promise<never>}
 */
async function rejected(failure) {
  await undefined;
  await undefined;
  throw errorOf(failure);
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

module.exports = { SluicegateError, WrongTypeError, errorOf, invalidArgument, ofWrongType, rejected, succeeded };
