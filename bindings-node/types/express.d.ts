/**
 * Options of the middleware.
 */
export type RateLimitOptions<Request> = import("./types.js").RateLimitOptions<Request>;
/**
 * Middleware for Express, and for whatever else has its signature: every request is decided by `checkRequest`.
 *
 * One that is denied is answered with 429, the headers of the decision and problem details (RFC 9457); one that
 * is admitted goes on, and its answer has the headers too. One that makes no sense is answered with 400.
 *
 * @template {IncomingMessage} [Request=IncomingMessage]
 * @param {RateLimiter} limiter
 * @param {RateLimitOptions<Request>} [options]
 * @returns {(request: Request, response: ServerResponse, next: (error?: unknown) => void) => void}
 */
export function rateLimit<Request extends IncomingMessage = IncomingMessage>(limiter: RateLimiter, options?: RateLimitOptions<Request>): (request: Request, response: ServerResponse, next: (error?: unknown) => void) => void;
import type { IncomingMessage } from 'node:http';
import type { RateLimiter } from './index.js';
import type { ServerResponse } from 'node:http';
