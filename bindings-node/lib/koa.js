'use strict';

/** @import { Decision } from './index.js' */
/** @import { KoaContext, LimiterOf, RouteDefaults, RouteLimitOptions, Stated } from './types.js' */

const { keepFromCaches } = require('./caches.js');
const { isGrpc, setFields } = require('./grpc.js');
const { untyped } = require('./policy.js');
const { Route, sharedOf } = require('./routes/deciding.js');
const { isPayload, noAnswer } = require('./routes/hooks.js');
const { NodeRequest, holdFor } = require('./routes/node.js');

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
function routeLimits(limiter, defaults) {
  const shared = sharedOf(limiter, defaults);
  return (limits, options) => {
    const route = new Route(shared, limits, options);
    return async (/** @type {any} */ context, next) => {
      const asked = new NodeRequest(context.req, templateOf(context), [context], context.params ?? {});
      const { status, headers, body, decision, held } = await route.decide(asked);
      if (decision !== undefined) Object.assign(context.state, { rateLimit: decision, reservation: held });
      if (!isGrpc({ headers })) context.set(untyped(headers));
      if (status === undefined) {
        keepFromCaches(context.res, headers);
        holdFor(route, held, context.req, context.res, context);
        return next();
      }
      context.status = status;
      if (decision !== undefined && route.hooks.onDenied) return answered(route, asked, decision);
      setFields(headers, context.res, (name, value) => context.set(name, value));
      context.body = body;
    };
  };
}

/** Lets the application answer. Nothing that it returns is sent. */
async function answered(route, asked, decision) {
  const [context] = asked.args;
  const { status } = context;
  const returned = await route.ask('onDenied', asked, decision);
  const isAnswered = context.body !== undefined || context.status !== status || context.headerSent || context.respond === false;
  if (!isAnswered && isPayload(returned)) throw noAnswer(asked.where, returned, 'set the body of the context');
}

/** Of @koa/router, in what koa-mount has mounted. */
function templateOf({ _matchedRoute: route = '', mountPath = '' }) {
  return `${mountPath}${route}` || '/';
}

module.exports = { routeLimits };
