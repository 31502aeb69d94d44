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
 * Middleware for Express, and for whatever else has its signature: every request is decided by `checkRequest`.
 *
 * One that is denied is answered with 429, the headers of the decision and problem details (RFC 9457); one that
 * is admitted goes on, and its answer has the headers too. One that makes no sense is answered with 400.
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
      ruling = await judge(request, request, routeOf(request));
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
 * @param {{ originalUrl?: string, baseUrl?: string, url?: string | undefined, app?: any }} request
 */
function routeOf({ originalUrl, baseUrl = '', url = '', app }) {
  return { target: originalUrl ?? url, otherTargets: [baseUrl + url], ignoreCase: ignoresCase(app) };
}

/** Express routes without regard to capitals unless told otherwise, and each of its routers has to be told. */
function ignoresCase(app) {
  return !app?.enabled?.('case sensitive routing') || !isSensitive(app._router ?? app.router);
}

/** An application that is mounted is hidden in a function, and its routers with it. */
function isSensitive(router) {
  return router.caseSensitive === true && router.stack.every(isSensitiveLayer);
}

function isSensitiveLayer({ name, handle }) {
  return name !== 'mounted_app' && (!Array.isArray(handle.stack) || isSensitive(handle));
}

module.exports = { rateLimit };
