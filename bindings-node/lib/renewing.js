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
  if (lease !== undefined) renewLater(new WeakRef(reservation), lease, 1 / 2);
}

/**
 * @param {WeakRef<Reservation>} reference
 * @param {number} lease
 * @param {number} part
 */
function renewLater(reference, lease, part) {
  setTimeout(() => renew(reference, lease), Math.min(lease * part, LONGEST)).unref();
}

/**
 * @param {WeakRef<Reservation>} reference
 * @param {number} lease
 */
async function renew(reference, lease) {
  const held = reference.deref();
  if (held === undefined || leaseOf(held) === undefined) return;
  try {
    if (await held.renew()) return renewLater(reference, lease, 1 / 2);
    if (leaseOf(held) === undefined) return;
    process.emitWarning(`a reservation under rule "${held.rule}" is renewed no longer: its lease was over, or it was ended elsewhere`);
  } catch (error) {
    process.emitWarning(`a reservation under rule "${held.rule}" could not be renewed: ${error.message}`);
    renewLater(reference, lease, RETRY_PART);
  }
}

module.exports = { keepRenewed };
