import './hono-request.js';
/**
 * Makes limits for routes of Hono. What it answers is called with a rate (`'5/minute'`), the name of a rule, a rule, or an array of
 * them, which are decided together, and with options of the route; it answers middleware. Functions get the context.
 *
 * A request that is denied is answered with 429 and problem details (RFC 9457), or by the response that `onDenied(context,
 * decision)` returns. The decision is `context.get('rateLimit')`, what is reserved `context.get('reservation')`. All methods of a
 * route share its limit. Addresses are known where @hono/node-server serves; elsewhere state `key`.
 *
 * @param {LimiterOf<[Context]>} limiter A limiter, or a function of the context that returns one.
 * @param {RouteDefaults<[Context], Response, [context: Context, decision: Decision]>} [defaults]
 * @returns {(limits: Stated, options?: RouteLimitOptions<[Context], Response, [context: Context, decision: Decision]>) => MiddlewareHandler}
 */
export function routeLimits(limiter: LimiterOf<[Context]>, defaults?: RouteDefaults<[Context], Response, [context: Context, decision: Decision]>): (limits: Stated, options?: RouteLimitOptions<[Context], Response, [context: Context, decision: Decision]>) => MiddlewareHandler;
import type { Context } from 'hono';
import type { LimiterOf } from './types.js';
import type { Decision } from './index.js';
import type { RouteDefaults } from './types.js';
import type { Stated } from './types.js';
import type { RouteLimitOptions } from './types.js';
import type { MiddlewareHandler } from 'hono';
