'use strict';

/** @import { IncomingMessage, ServerResponse } from 'node:http' */
/** @import { RateLimiter } from './index.js' */

/**
 * Options of the middleware.
 *
 * @template Request
 * @typedef {import('./types.js').RateLimitOptions<Request>} RateLimitOptions
 */

const { judgeBy } = require('./middleware.js');

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
function rateLimit(limiter, options) {
  const judge = judgeBy(limiter, options);
  return async (request, response, next) => {
    let ruling;
    try {
      ruling = await judge(request, request, response, routeOf(request));
      for (const [name, value] of Object.entries(ruling.headers)) response.setHeader(name, value);
    } catch (error) {
      return next(error);
    }
    if (ruling.status === undefined) return next();
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

module.exports = { rateLimit };
