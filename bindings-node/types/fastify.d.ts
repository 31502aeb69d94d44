import './fastify-request.js';
/**
 * Options of the middleware.
 */
export type RateLimitOptions<Request> = import("./types.js").RateLimitOptions<Request>;
/**
 * Options of the plugin. Without `log`, the request's own logger receives the errors.
 */
export type FastifyRateLimitOptions = RateLimitOptions<FastifyRequest> & {
    limiter: RateLimiter;
};
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
import type { FastifyRequest } from 'fastify';
import type { RateLimiter } from './index.js';
import type { FastifyPluginAsync } from 'fastify';
