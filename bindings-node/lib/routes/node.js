'use strict';

// What limits at routes do with requests and responses of Node.

/** @import { IncomingMessage, ServerResponse } from 'node:http' */
/** @import { Route, RouteRequest, Ruling } from './deciding.js' */

const { holdDuring } = require('../inflight.js');
const { headersOf } = require('../raw.js');

/** Of an answer that never came. */
const BROKEN = 500;

/**
 * @param {IncomingMessage} raw
 * @param {Pick<RouteRequest, 'args' | 'template' | 'params'>} known
 * @returns {RouteRequest}
 */
function routeRequest(raw, known) {
  return {
    where: `route ${known.template}`,
    method: raw.method ?? '',
    peer: raw.socket.remoteAddress,
    forwardedFor: /** @type {string | undefined} */ (raw.headers['x-forwarded-for']),
    header: (name) => headersOf(raw).find(([other]) => other.toLowerCase() === name)?.[1],
    ...known,
  };
}

/**
 * Holds what is reserved for a request until its response is over, and charges it or gives it back then. `judged` is what
 * a function of the application judges the answer by.
 *
 * @param {Route} route
 * @param {Ruling} ruling
 * @param {IncomingMessage} raw
 * @param {ServerResponse} response
 * @param {unknown} [judged]
 * @param {{ log: Function, warn: Function }} [report]
 */
function holdFor(route, { held }, raw, response, judged = response, report = route.policy) {
  if (held === undefined) return;
  const isKept = () => route.isKept(judged, response.headersSent ? response.statusCode : BROKEN);
  const { log, warn } = report;
  holdDuring(held, raw, response, { maxLeaseSeconds: route.policy.maxLeaseSeconds, log, warn, isKept });
}

module.exports = { holdFor, routeRequest };
