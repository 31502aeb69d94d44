'use strict';

/** @import { IncomingMessage, ServerResponse } from 'node:http' */
/** @import { RateLimiter } from './index.js' */
/** @import { ExpressRequest } from './express-request.js' */
/** @import { ExpressDenied, ExpressMiddleware, LimiterOf, MatchingHooks, RouteDefaults, RouteLimitOptions, Stated } from './types.js' */

/**
 * Options of the middleware.
 *
 * @template Request
 * @typedef {import('./types.js').RateLimitOptions<Request>} RateLimitOptions
 */

const { keepFromCaches } = require('./caches.js');
const { setFields } = require('./grpc.js');
const { judgeBy } = require('./middleware.js');
const { untyped } = require('./policy.js');
const { Route, sharedOf } = require('./routes/deciding.js');
const { templateOf } = require('./routes/express-template.js');
const { isPayload, noAnswer } = require('./routes/hooks.js');
const { WHERE } = require('./routes/matching.js');
const { NodeRequest, holdFor } = require('./routes/node.js');

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
function rateLimit(limiter, options) {
  const judge = judgeBy(limiter, options);
  return async (request, response, next) => {
    let ruling;
    try {
      ruling = await judge(request, request, response, routeOf(request));
      setFields(ruling.headers, response, (name, value) => response.setHeader(name, value));
      if (ruling.answer) return await answered(WHERE, ruling.answer, response, next);
    } catch (error) {
      return next(error);
    }
    if (ruling.status === undefined) {
      keepFromCaches(response, ruling.headers);
      return next();
    }
    response.statusCode = ruling.status;
    response.end(ruling.body);
  };
}

/**
 * Within a router, `url` is what is left of the target; earlier middleware may have changed it.
 *
 * Express routes without regard to capitals unless each application and router is configured otherwise, and some of them
 * cannot be seen from here: a parent, or what a function hides. So capitals count only where an option says so.
 *
 * @param {{ originalUrl?: string, baseUrl?: string, url?: string | undefined }} request
 */
function routeOf({ originalUrl, baseUrl = '', url = '' }) {
  return { target: originalUrl ?? url, otherTargets: [baseUrl + url], ignoreCase: true };
}

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
function routeLimits(limiter, defaults) {
  const shared = sharedOf(limiter, defaults);
  return (limits, options) => {
    const route = new Route(shared, limits, options);
    return async function limited(request, response, next) {
      try {
        const template = templateOf(request, limited);
        const asked = new NodeRequest(request, template, [request], /** @type {any} */ (request).params);
        const ruling = await route.decide(asked);
        if (ruling.status !== undefined) return await refused(route, ruling, asked, response, next);
        admitted(route, ruling, request, response);
      } catch (error) {
        return next(error);
      }
      next();
    };
  };
}

function admitted(route, ruling, request, response) {
  const { headers, held } = ruling;
  attach(ruling, request);
  for (const name in headers) response.setHeader(name, headers[name]);
  keepFromCaches(response, headers);
  holdFor(route, held, request, response);
}

async function refused(route, ruling, asked, response, next) {
  const { status, headers, body, decision } = ruling;
  attach(ruling, asked.args[0]);
  const isOwn = decision !== undefined && route.hooks.onDenied !== undefined;
  setFields(isOwn ? untyped(headers) : headers, response, (name, value) => response.setHeader(name, value));
  if (isOwn) return answered(asked.where, (...more) => route.ask('onDenied', asked, decision, ...more), response, next);
  response.statusCode = status;
  response.end(body);
}

/** Lets the application answer. Where it returns the answer in place of writing it, the client would wait for ever. */
async function answered(where, answer, response, next) {
  let isPassed = false;
  const returned = await answer(response, (...given) => {
    isPassed = true;
    next(...given);
  });
  if (isPassed || response.headersSent || !isPayload(returned)) return;
  throw noAnswer(where, returned, 'write the response, or call next');
}

/** What is decided, at the request. */
function attach(ruling, request) {
  if (ruling.decision === undefined) return;
  request.rateLimit = ruling.decision;
  request.reservation = ruling.held;
}

module.exports = { rateLimit, routeLimits };
