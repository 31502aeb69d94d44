import './express-request.js';
/**
 * Options of the middleware.
 */
export type RateLimitOptions<Request> = import("./types.js").RateLimitOptions<Request>;
/**
 * Middleware for Express, and for whatever else has its signature: every request is decided by `reserveRequest`.
 *
 * One that is denied is answered with 429, the headers of the decision and problem details (RFC 9457); one that
 * is admitted goes on, and its answer has the headers too. One that makes no sense is answered with 400.
 *
 * What is reserved, such as a place of a rule with the algorithm `concurrency`, is held until the response is over or the
 * client hangs up, and renewed while it lasts; then it is committed as it was reserved. The application finds it as
 * `request.reservation`, and may commit what it has used itself. The decision is `request.rateLimit`; what rules in shadow
 * would have denied is in its `parts`, and said with `NODE_DEBUG=sluicegate`.
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
