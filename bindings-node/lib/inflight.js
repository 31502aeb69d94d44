'use strict';

// Requests in flight: what was reserved for one is held until its response is over.

/** @import { ServerResponse } from 'node:http' */
/** @import { Reservation } from './reservation.js' */

const { leaseOf } = require('./reservation.js');

/** No timer of Node waits longer. */
const LONGEST = 2 ** 31 - 1;

/**
 * Renews what is held at half its lease, and commits it as it was reserved when the response is over: it was sent, or the
 * client has hung up. What the application has ended stays as it is.
 *
 * @param {Reservation} held
 * @param {ServerResponse} response
 * @param {Function} log
 */
function holdDuring(held, response, log) {
  let timer;
  let isOver = false;
  const end = () => {
    clearTimeout(timer);
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
  // The client may have hung up while the limiter was asked.
  if (isGone(response)) return end();
  renewLater();
  response.once('finish', end);
  response.once('close', end);
}

/** In HTTP/2, a response is as good as its stream. */
function isGone(response) {
  return (response.stream ?? response).destroyed;
}

module.exports = { holdDuring };
