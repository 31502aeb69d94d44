'use strict';

/** @import { Context, MiddlewareHandler } from 'hono' */
/** @import { Decision } from './index.js' */
/** @import { LimiterOf, RouteDefaults, RouteLimitOptions, Stated } from './types.js' */

const { isForAll } = require('./caches.js');
const { setFields } = require('./grpc.js');
const { untyped } = require('./policy.js');
const { Route, sharedOf } = require('./routes/deciding.js');
const { noAnswer } = require('./routes/hooks.js');
const { holdFor } = require('./routes/node.js');

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
function routeLimits(limiter, defaults) {
  const shared = sharedOf(limiter, defaults);
  return (limits, options) => {
    const route = new Route(shared, limits, options);
    return async (context, next) => {
      const asked = requestOf(context);
      const { status, headers, body, decision, held } = await route.decide(asked);
      if (decision !== undefined) context.set('rateLimit', decision);
      if (status !== undefined) return refused(route, asked, { status, headers, body, decision });
      await served(route, held, context, next);
      if (isForAll(context.res.headers.get('cache-control'))) return;
      // Those of a limit further in, which has answered already, stay.
      for (const [name, value] of Object.entries(headers)) if (!context.res.headers.has(name)) context.header(name, value);
    };
  };
}

/** @returns {import('./routes/deciding.js').RouteRequest} */
function requestOf(context) {
  const { req } = context;
  return {
    args: [context],
    where: `route ${req.routePath}`,
    method: req.method,
    template: req.routePath,
    peer: context.env?.incoming?.socket?.remoteAddress,
    lines: (name) => req.header(name),
    header: (name) => req.header(name),
    params: req.param(),
  };
}

async function refused(route, asked, { status, headers, body, decision }) {
  const [context] = asked.args;
  const response = decision !== undefined && route.hooks.onDenied ? await route.ask('onDenied', asked, decision) : undefined;
  if (response === undefined || response === null) {
    setFields(headers, context.env?.outgoing, (name, value) => context.header(name, value));
    return context.body(body, status);
  }
  if (typeof response?.headers?.has !== 'function') throw noAnswer(asked.where, response, 'return a response');
  context.res = response;
  for (const [name, value] of Object.entries(untyped(headers))) if (!response.headers.has(name)) context.header(name, value);
  return context.res;
}

/** Serves a request, and charges or gives back what is reserved for it at the end of the response; without Node's, at its beginning. */
async function served(route, held, context, next) {
  if (held === undefined) return next();
  context.set('reservation', held);
  const { incoming, outgoing } = context.env ?? {};
  if (outgoing) {
    const watched = { policy: route.policy, isKept: (judged, status) => route.isKept(context.res, status) };
    holdFor(watched, held, incoming, outgoing);
    return next();
  }
  let isCharged = true;
  try {
    await next();
    isCharged = route.isKept(context.res, context.res.status);
  } finally {
    await (isCharged ? held.commit() : held.release());
  }
}

module.exports = { routeLimits };
