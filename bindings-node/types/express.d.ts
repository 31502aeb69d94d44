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
 * @param {RateLimiter | Promise<RateLimiter>} limiter A limiter, or the promise of one, which requests wait for.
 * @param {RateLimitOptions<Request> & MatchingHooks<Request, ServerResponse, ExpressDenied<Request>>} [options]
 * @returns {ExpressMiddleware<Request>}
 */
export function rateLimit<Request extends IncomingMessage = IncomingMessage>(limiter: RateLimiter | Promise<RateLimiter>, options?: RateLimitOptions<Request> & MatchingHooks<Request, ServerResponse, ExpressDenied<Request>>): ExpressMiddleware<Request>;
/**
 * Makes limits for routes of Express 4 and 5. What it answers is called with a rate (`'5/minute'`), the name of a rule, a rule, or an
 * array of them, which are decided together, and with options of the route; it answers middleware, for routes and routers.
 *
 * A request that is denied is answered with 429 and problem details (RFC 9457), or by `onDenied(request, decision, response, next)`.
 * The decision is `request.rateLimit`, what is reserved `request.reservation`. All methods of a route share its limit.
 *
 * @template {IncomingMessage} [Request=ExpressRequest]
 * @param {LimiterOf<[Request]>} limiter A limiter, or a function of the request that returns one.
 * @param {RouteDefaults<[Request], ServerResponse, ExpressDenied<Request>>} [defaults]
 * @returns {(limits: Stated, options?: RouteLimitOptions<[Request], ServerResponse, ExpressDenied<Request>>) => ExpressMiddleware<Request>}
 */
export function routeLimits<Request extends IncomingMessage = ExpressRequest>(limiter: LimiterOf<[Request]>, defaults?: RouteDefaults<[Request], ServerResponse, ExpressDenied<Request>>): (limits: Stated, options?: RouteLimitOptions<[Request], ServerResponse, ExpressDenied<Request>>) => ExpressMiddleware<Request>;
import type { IncomingMessage } from 'node:http';
import type { RateLimiter } from './index.js';
import type { ServerResponse } from 'node:http';
import type { ExpressDenied } from './types.js';
import type { MatchingHooks } from './types.js';
import type { ExpressMiddleware } from './types.js';
import type { ExpressRequest } from './express-request.js';
import type { LimiterOf } from './types.js';
import type { RouteDefaults } from './types.js';
import type { Stated } from './types.js';
import type { RouteLimitOptions } from './types.js';
