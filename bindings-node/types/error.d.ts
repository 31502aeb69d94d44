/** An error of the limiter. A denial is none. */
export class SluicegateError extends Error {
    /**
     * @private
     * @param {Failure} failure
     */
    private constructor();
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
    name: "SluicegateError";
    #private;
}
/** @import { Failure } from './types.js' */
/**
 * Makes an error; its constructor is not for users.
 *
 * @type {(failure: Failure) => SluicegateError}
 */
export let errorOf: (failure: Failure) => SluicegateError;
/**
 * An error without stack frames, for a call that the event loop settles later: its caller is not on the stack by then, and
 * to collect the loop's frames would take longer than all else about the error.
 *
 * @param {Failure} failure
 */
export function errorWithoutStack(failure: Failure): SluicegateError;
/**
 * The error for an argument of the right type with a value that makes no sense.
 *
 * @param {string} message
 */
export function invalidArgument(message: string): SluicegateError;
/**
 * What the native part answers with a list, unless it answers with what went wrong.
 *
 * @template Item
 * @param {Item[] | Failure} answer
 */
export function succeeded<Item>(answer: Item[] | Failure): Item[];
import type { Failure } from './types.js';
