/**
 * Makes limits for routes of Koa. What it answers is called with a rate (`'5/minute'`), the name of a rule, a rule, or an array of
 * them, which are decided together, and with options of the route; it answers middleware, for routes of a router and for
 * applications. Functions get the context.
 *
 * A request that is denied is answered with 429 and problem details (RFC 9457), or by `onDenied(context, decision)`. The
 * decision is `context.state.rateLimit`, what is reserved `context.state.reservation`. All methods of a route share its limit.
 *
 * @template {KoaContext} [Context=KoaContext]
 * @param {LimiterOf<[Context]>} limiter A limiter, or a function of the context that returns one.
 * @param {RouteDefaults<[Context], Context, [context: Context, decision: Decision]>} [defaults]
 * @returns {(limits: Stated, options?: RouteLimitOptions<[Context], Context, [context: Context, decision: Decision]>) =>
 *   (context: Context, next: () => Promise<unknown>) => Promise<unknown>}
 */
export function routeLimits<Context extends KoaContext = KoaContext>(limiter: LimiterOf<[Context]>, defaults?: RouteDefaults<[Context], Context, [context: Context, decision: Decision]>): (limits: Stated, options?: RouteLimitOptions<[Context], Context, [context: Context, decision: Decision]>) => (context: Context, next: () => Promise<unknown>) => Promise<unknown>;
import type { KoaContext } from './types.js';
import type { LimiterOf } from './types.js';
import type { Decision } from './index.js';
import type { RouteDefaults } from './types.js';
import type { Stated } from './types.js';
import type { RouteLimitOptions } from './types.js';
