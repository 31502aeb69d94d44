import './fastify-request.js';
/**
 * Options of the middleware.
 */
export type RateLimitOptions<Request> = import("./types.js").RateLimitOptions<Request>;
/**
 * Options of the plugin. Without `log`, the request's own logger receives the errors.
 */
export type FastifyRateLimitOptions = RateLimitOptions<FastifyRequest> & MatchingHooks<FastifyRequest, FastifyReply, [request: FastifyRequest, decision: Decision, reply: FastifyReply]> & {
    limiter: RateLimiter | Promise<RateLimiter>;
};
/**
 * Options of the limits of one route. `onDenied` returns the payload of the answer, or sends it with the reply and returns that.
 */
export type FastifyRouteOptions = RouteLimitOptions<[FastifyRequest], FastifyReply, [request: FastifyRequest, decision: Decision, reply: FastifyReply]>;
/**
 * Limits of routes: a function that makes hooks, and a plugin for limits in the `config` of routes.
 */
export type FastifyRouteLimits = ((limits: Stated, options?: FastifyRouteOptions) => (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>) & {
    plugin: FastifyPluginAsync;
};
import { RateLimited } from "./denial.js";
/**
 * A plugin for Fastify: every request is decided by `reserveRequest`, in a hook `onRequest`. Register it after what
 * authenticates.
 *
 * One that is denied is answered with 429, the headers of the decision and problem details (RFC 9457); one that
 * is admitted goes on, and its answer has the headers too. One that makes no sense is answered with 400.
 *
 * What is reserved, such as a place of a rule with the algorithm `concurrency`, is held until the response is over or the
 * client hangs up, and renewed while it lasts; then it is committed as it was reserved. The application finds it as
 * `request.reservation`, and may commit what it has used itself. The decision is `request.rateLimit`; what rules in shadow
 * would have denied is in its `parts`, and said with `NODE_DEBUG=sluicegate`.
 *
 * @type {FastifyPluginAsync<FastifyRateLimitOptions>}
 */
export const rateLimit: FastifyPluginAsync<FastifyRateLimitOptions>;
/**
 * Makes limits for routes. What it answers is called with a rate (`'5/minute'`), the name of a rule, a rule, or an array of them, which
 * are decided together, and with options of the route; it answers a hook, such as for `preHandler` of a route, which runs after what
 * authenticates. With its `plugin`, routes may state limits in their `config` instead: `config: { limit: '5/minute' }`, or
 * `{ limit: { limits: '5/minute', key } }`.
 *
 * A request that is denied throws `RateLimited`, with the status 429, which `setErrorHandler` may answer, unless there is
 * `onDenied(request, decision, reply)`. The decision is `request.rateLimit`, what is reserved `request.reservation`. All methods
 * of a route share its limit.
 *
 * @param {LimiterOf<[FastifyRequest]>} limiter A limiter, or a function of the request that returns one.
 * @param {RouteDefaults<[FastifyRequest], FastifyReply, [request: FastifyRequest, decision: Decision, reply: FastifyReply]>} [defaults]
 * @returns {FastifyRouteLimits}
 */
export function routeLimits(limiter: LimiterOf<[FastifyRequest]>, defaults?: RouteDefaults<[FastifyRequest], FastifyReply, [request: FastifyRequest, decision: Decision, reply: FastifyReply]>): FastifyRouteLimits;
import type { FastifyRequest } from 'fastify';
import type { FastifyReply } from 'fastify';
import type { Decision } from './index.js';
import type { MatchingHooks } from './types.js';
import type { RateLimiter } from './index.js';
import type { RouteLimitOptions } from './types.js';
import type { Stated } from './types.js';
import type { FastifyPluginAsync } from 'fastify';
import type { LimiterOf } from './types.js';
import type { RouteDefaults } from './types.js';
export { RateLimited };
