/** An error of the limiter. A denial is none. */
export class SluicegateError extends Error {
    /**
     * @protected
     * @param {Failure} failure
     */
    protected constructor();
    /**
     * What went wrong.
     *
     * @readonly
     */
    readonly code: import("./index.js").ErrorCode;
    /**
     * Whether the same call may succeed later. After a `Timeout` the first call may have been charged.
     *
     * @readonly
     */
    readonly retryable: boolean;
    /**
     * The names, in Redis, of the keys that a `Server` error is about. Not a property of the error itself: they hold what
     * clients are known by, and loggers print the properties of an error.
     *
     * @returns {string | undefined}
     */
    get key(): string | undefined;
    name: "SluicegateError" | "WrongTypeError";
    #private;
}
/** An argument has the wrong type. The message names the argument, what it has to be, and what it is. */
export class WrongTypeError extends SluicegateError {
    /**
     * @private
     * @param {string} message
     */
    private constructor();
    name: "WrongTypeError";
}
/** @import { Failure } from './types.js' */
/**
 * Makes an error; its constructor is not for users.
 *
 * @type {(failure: Failure) => SluicegateError}
 */
export let errorOf: (failure: Failure) => SluicegateError;
/**
 * The error for an argument of the right type with a value that makes no sense.
 *
 * @param {string} message
 */
export function invalidArgument(message: string): SluicegateError;
/**
 * Makes one of the wrong type of an argument.
 *
 * @type {(message: string) => WrongTypeError}
 */
export let ofWrongType: (message: string) => WrongTypeError;
/**
 * What to resolve the promise of a call with that fails when its caller is not on the stack any more. The error is made when
 * the promise follows this one: V8 then finds who awaits it, and puts these functions in the stack of the error.
 *
 * @param {Failure} failure
 * @returns {Promise<never>}
 */
export function rejected(failure: Failure): Promise<never>;
/**
 * What the native part answers with a list, unless it answers with what went wrong.
 *
 * @template Item
 * @param {Item[] | Failure} answer
 */
export function succeeded<Item>(answer: Item[] | Failure): Item[];
import type { Failure } from './types.js';
