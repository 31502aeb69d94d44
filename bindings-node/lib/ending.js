'use strict';

// The end of a reservation, checked and made ready to cross.

const { amount, text, wrongType } = require('./arguments.js');
const { Call, OP } = require('./mailbox.js');
const { Reservation, endReservation } = require('./reservation.js');

/** What was used crosses in rows of its own; src/calls.rs has the same order. */
function endingCall(op, reservation, cost) {
  const isObject = reservation instanceof Reservation;
  if (!isObject && typeof reservation !== 'string') {
    throw wrongType('reservation', 'a Reservation or its id', reservation);
  }
  const resource = isObject ? reservation.id : text('reservation', reservation);
  const costs = typeof cost === 'object' ? costsOf(cost) : undefined;
  const limit = cost === undefined || costs !== undefined ? undefined : amount('cost', cost, 0);
  if (isObject && op !== OP.RENEW) endReservation(reservation);
  return new Call(op, 0, '', { resource, limit }, costs?.length ?? 0, costs);
}

function costsOf(cost) {
  if (Array.isArray(cost)) {
    const stated = [...cost.entries()].filter(([, used]) => used !== undefined);
    return stated.map(([place, used]) => new Call(OP.COMMIT, place, '', { resource: '', cost: amount(`cost[${place}]`, used, 0) }));
  }
  if (Object.prototype.toString.call(cost) !== '[object Object]') throw wrongType('cost', 'a number or costs by rule', cost);
  return Object.entries(cost).map(([rule, used]) => {
    return new Call(OP.COMMIT, 0, text('a rule of cost', rule), { cost: amount(`cost["${rule}"]`, used, 0) });
  });
}

module.exports = { endingCall };
