'use strict';

/**
 * What went wrong: `code` is the name of its kind, `retryable` whether the same call may succeed later.
 * A denial is not an error.
 */
class SluicegateError extends Error {
  constructor({ code, message, retryable }) {
    super(message);
    this.code = code;
    this.retryable = retryable;
  }
}

// On the prototype, as with the built-in errors: not one more property of every error.
Object.defineProperty(SluicegateError.prototype, 'name', {
  value: 'SluicegateError',
  configurable: true,
  writable: true,
});

/** The error for an argument of the right type with a value that makes no sense. */
function invalidArgument(message) {
  return new SluicegateError({ code: 'InvalidArgument', message, retryable: false });
}

/** What the native part answers with a list, unless it answers with what went wrong. */
function succeeded(answer) {
  if (!Array.isArray(answer)) throw new SluicegateError(answer);
  return answer;
}

module.exports = { SluicegateError, invalidArgument, succeeded };
