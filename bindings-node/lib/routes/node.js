'use strict';

// What limits at routes do with requests and responses of Node.

/** @import { IncomingMessage, ServerResponse } from 'node:http' */
/** @import { Reservation } from '../reservation.js' */
/** @import { RouteRequest } from './deciding.js' */

const { holdDuring } = require('../inflight.js');
const { headersOf } = require('../raw.js');

/** Of an answer that never came. */
const BROKEN = 500;

/** A request of Node at a route, as a `RouteRequest`: of most, little is asked. */
class NodeRequest {
  #raw;

  /**
   * @param {IncomingMessage} raw
   * @param {string} template
   * @param {RouteRequest['args']} args
   * @param {RouteRequest['params']} params
   */
  constructor(raw, template, args, params) {
    this.#raw = raw;
    this.template = template;
    this.args = args;
    this.params = params;
  }

  get where() {
    return `route ${this.template}`;
  }

  get method() {
    return this.#raw.method ?? '';
  }

  get peer() {
    return this.#raw.socket.remoteAddress;
  }

  lines(name) {
    return /** @type {string | undefined} */ (this.#raw.headers[name]);
  }

  header(name) {
    return headersOf(this.#raw).find(([other]) => other.toLowerCase() === name)?.[1];
  }
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

module.exports = { NodeRequest, holdFor };
