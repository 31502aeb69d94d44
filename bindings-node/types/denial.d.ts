/**
 * A request is denied: `statusCode` 429. Or it could not be decided: 503, or made no sense: 400. An error handler of the
 * application may answer it.
 */
export class RateLimited extends Error {
    /**
     * @private
     * @param {{ status?: number, body?: string, decision?: Decision | undefined }} ruling
     */
    private constructor();
    /** @type {number} @readonly The status of the answer. */
    readonly statusCode: number;
    /** @type {'RATE_LIMITED' | 'UNDECIDED' | 'INVALID_REQUEST'} @readonly */
    readonly code: "RATE_LIMITED" | "UNDECIDED" | "INVALID_REQUEST";
    /** @type {Decision | undefined} @readonly The decision; `undefined` where the limiter made none. */
    readonly decision: Decision | undefined;
}
/** @import { Decision } from './index.js' */
/**
 * Makes one; its constructor is not for users.
 *
 * @type {(ruling: { status?: number, body?: string, decision?: Decision | undefined }) => RateLimited}
 */
export let rateLimited: (ruling: {
    status?: number;
    body?: string;
    decision?: Decision | undefined;
}) => RateLimited;
import type { Decision } from './index.js';
