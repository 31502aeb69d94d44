'use strict';

// Requests in flight: what was reserved for one is held until its response is over.

/** @import { IncomingMessage, ServerResponse } from 'node:http' */
/** @import { Reservation } from './reservation.js' */

const { carrierOf, onceGone } = require('./connections.js');
const { errorOf } = require('./error.js');
const { LONGEST, RETRY_PART } = require('./renewing.js');
const { leaseOf } = require('./reservation.js');

/**
 * Renews what is held at half its lease, and commits it as it was reserved when the response is over: it was sent, or the
 * connection is gone. Where `isKept` answers `false` by then, it is released instead. What the application has ended stays as it is. A response that is not over after `maxLeaseSeconds`
 * is not waited for any longer: what is held for it ends with its lease.
 *
 * @param {Reservation} held
 * @param {IncomingMessage} request
 * @param {ServerResponse} response
 * @param {{ maxLeaseSeconds: number, log: Function, warn: Function, isKept?: () => boolean }} policy
 */
function holdDuring(held, request, response, { maxLeaseSeconds, log, warn, isKept = () => true }) {
  const began = performance.now();
  let timer;
  let isOver = false;
  let forget = () => {};
  const end = () => {
    clearTimeout(timer);
    forget();
    if (isOver) return;
    isOver = true;
    if (leaseOf(held) !== undefined) ended(held, isKept, warn).catch((error) => log(error));
  };
  const renewLater = (part) => {
    timer = setTimeout(renew, Math.min((leaseOf(held) ?? 0) * part, LONGEST)).unref();
  };
  const renew = async () => {
    if (leaseOf(held) === undefined) return;
    if (performance.now() - began >= maxLeaseSeconds * 1000) return warn(tooLong(maxLeaseSeconds));
    let isHeld = true;
    let part = 1 / 2;
    try {
      isHeld = await held.renew();
    } catch (error) {
      log(error);
      isHeld = error.code !== 'Closed';
      part = RETRY_PART;
    }
    if (isHeld && !isOver) renewLater(part);
  };
  const carrier = carrierOf(request, response);
  // The client may have hung up while the limiter was asked.
  if (carrier.destroyed || response.destroyed) return end();
  renewLater(1 / 2);
  forget = onceGone(carrier, end);
  response.once('finish', end);
  response.once('close', end);
}

/** What the application cannot judge is charged. */
function ended(held, isKept, warn) {
  let kept = true;
  try {
    kept = isKept();
  } catch (error) {
    warn(error);
  }
  return kept ? held.commit() : held.release();
}

function tooLong(seconds) {
  const message = `a reservation is not renewed any more: the response to its request is not over after ${seconds} s ` +
    '(raise maxLeaseSeconds if requests take that long)';
  return errorOf({ code: 'Timeout', message, retryable: false });
}

module.exports = { holdDuring };
