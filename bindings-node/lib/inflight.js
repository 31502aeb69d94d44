'use strict';

// Requests in flight: what was reserved for one is held until its response is over.

/** @import { IncomingMessage, ServerResponse } from 'node:http' */
/** @import { Reservation } from './reservation.js' */

const { carrierOf, onceGone } = require('./connections.js');
const { leaseOf } = require('./reservation.js');

/** No timer of Node waits longer. */
const LONGEST = 2 ** 31 - 1;

/**
 * Renews what is held at half its lease, and commits it as it was reserved when the response is over: it was sent, or the
 * connection is gone. What the application has ended stays as it is.
 *
 * @param {Reservation} held
 * @param {IncomingMessage} request
 * @param {ServerResponse} response
 * @param {Function} log
 */
function holdDuring(held, request, response, log) {
  let timer;
  let isOver = false;
  let forget = () => {};
  const end = () => {
    clearTimeout(timer);
    forget();
    if (!isOver && leaseOf(held) !== undefined) held.commit().catch((error) => log(error));
    isOver = true;
  };
  const renewLater = () => {
    timer = setTimeout(renew, Math.min((leaseOf(held) ?? 0) / 2, LONGEST)).unref();
  };
  const renew = async () => {
    let isHeld = true;
    try {
      isHeld = leaseOf(held) !== undefined && (await held.renew());
    } catch (error) {
      log(error);
    }
    if (isHeld && !isOver) renewLater();
  };
  const carrier = carrierOf(request, response);
  // The client may have hung up while the limiter was asked.
  if (carrier.destroyed || response.destroyed) return end();
  renewLater();
  forget = onceGone(carrier, end);
  response.once('finish', end);
  response.once('close', end);
}

module.exports = { holdDuring };
