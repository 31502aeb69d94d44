'use strict';

// Reservations whose lease is renewed in the background.

/** @import { Reservation } from './reservation.js' */

const { leaseOf } = require('./reservation.js');

/** No timer of Node waits longer. */
const LONGEST = 2 ** 31 - 1;

/** A renewal that failed is tried again after this part of the lease, to be in time more than once. */
const RETRY_PART = 1 / 8;

/**
 * Renews what is held at half its lease until it is ended, or forgotten. Neither keeps the process alive.
 *
 * @param {Reservation} reservation
 */
function keepRenewed(reservation) {
  const lease = leaseOf(reservation);
  if (lease !== undefined) renewLater({ reference: new WeakRef(reservation), lease, fails: false }, 1 / 2);
}

/**
 * What is renewed; `fails` since it was said that it could not be.
 *
 * @typedef {{ reference: WeakRef<Reservation>, lease: number, fails: boolean }} Renewal
 */

/**
 * @param {Renewal} renewal
 * @param {number} part
 */
function renewLater(renewal, part) {
  setTimeout(() => renew(renewal), Math.min(renewal.lease * part, LONGEST)).unref();
}

/** @param {Renewal} renewal */
async function renew(renewal) {
  const held = renewal.reference.deref();
  if (held === undefined || leaseOf(held) === undefined) return;
  try {
    const isHeld = await held.renew();
    renewal.fails = false;
    if (isHeld) return renewLater(renewal, 1 / 2);
    if (leaseOf(held) === undefined) return;
    process.emitWarning(`a reservation under rule "${held.rule}" is renewed no longer: its lease was over, or it was ended elsewhere`);
  } catch (error) {
    if (!renewal.fails) process.emitWarning(`a reservation under rule "${held.rule}" could not be renewed: ${error.message}`);
    renewal.fails = true;
    if (error.code !== 'Closed') renewLater(renewal, RETRY_PART);
  }
}

module.exports = { LONGEST, RETRY_PART, keepRenewed };
