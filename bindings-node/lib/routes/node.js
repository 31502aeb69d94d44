'use strict';

// What limits at routes do with requests and responses of Node.

/** @import { IncomingMessage, ServerResponse } from 'node:http' */
/** @import { Reservation } from '../reservation.js' */
/** @import { RouteRequest } from './deciding.js' */

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
    lines: (name) => /** @type {string | undefined} */ (raw.headers[name]),
    header: (name) => headersOf(raw).find(([other]) => other.toLowerCase() === name)?.[1],
    ...known,
  };
}

/**
 * Holds what is reserved for a request until its response is over, and charges it or gives it back then, as `isKept`
 * says of the answer and its status.
 *
 * @param {{ isKept(judged: unknown, status: number): boolean, policy: { maxLeaseSeconds: number, log: Function, warn: Function } }} route
 * @param {Reservation | undefined} held
 * @param {IncomingMessage} raw
 * @param {ServerResponse} response
 * @param {unknown} [judged] What a function of the application judges the answer by.
 * @param {{ log: Function, warn: Function }} [report]
 */
function holdFor(route, held, raw, response, judged = response, { log, warn } = route.policy) {
  if (held === undefined) return;
  const isKept = () => route.isKept(judged, response.headersSent ? response.statusCode : BROKEN);
  holdDuring(held, raw, response, { maxLeaseSeconds: route.policy.maxLeaseSeconds, log, warn, isKept });
}

module.exports = { holdFor, routeRequest };
