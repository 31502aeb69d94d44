'use strict';

// What is to happen when a connection is gone.

/** @import { EventEmitter } from 'node:events' */
/** @import { IncomingMessage, ServerResponse } from 'node:http' */

/**
 * What to call when each connection is gone.
 *
 * @type {WeakMap<EventEmitter, Set<() => void>>}
 */
const WATCHED = new WeakMap();

/**
 * What carries a request, as Node has it: its socket, or its stream in HTTP/2. Its end is the end of every response that
 * it carries; a response that waits in the queue of a dead socket emits neither `finish` nor `close`.
 *
 * @param {IncomingMessage} request
 * @param {ServerResponse} response
 * @returns {EventEmitter & { destroyed: boolean }}
 */
function carrierOf(request, response) {
  const { stream } = /** @type {any} */ (response);
  return request.httpVersionMajor === 2 && stream ? stream : request.socket;
}

/**
 * Calls `end` when the connection is gone, unless that is taken back by what this returns. A socket has one listener,
 * however many requests it carries: a client can send many at once, and Node warns of more than ten listeners.
 *
 * @param {EventEmitter} carrier
 * @param {() => void} end
 */
function onceGone(carrier, end) {
  const ends = WATCHED.get(carrier) ?? watch(carrier);
  ends.add(end);
  return () => ends.delete(end);
}

/** @param {EventEmitter} carrier */
function watch(carrier) {
  const ends = new Set();
  WATCHED.set(carrier, ends);
  carrier.once('close', () => {
    for (const end of ends) end();
  });
  return ends;
}

module.exports = { carrierOf, onceGone };
