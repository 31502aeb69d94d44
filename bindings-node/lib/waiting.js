'use strict';

// Calls that may wait: for their turn, or for room.

const { KNOWN, boolean, optional, options, span } = require('./arguments.js');
const { OP } = require('./mailbox.js');

/** Waits until a cost is admitted. */
function wait(caller, rule, key, given) {
  const timeoutMs = timeoutOfWait(given, KNOWN.wait);
  const call = caller.ruleCall(OP.WAIT, rule, key, given, KNOWN.wait, timeoutMs);
  // It is that of the wait, not of each try.
  call.timeoutMs = undefined;
  return caller.wait(call, given.signal);
}

/** Waits until several checks are admitted together. */
function waitAll(caller, items, given) {
  const timeoutMs = timeoutOfWait(given, KNOWN.waitAll);
  return caller.wait(caller.severalCall(OP.WAIT_ALL, items, { timeoutMs }), given.signal);
}

/** Reserves a cost, and waits for room if it is asked to. */
function reserve(caller, rule, key, given) {
  const waitMs = timeForRoom(given, KNOWN.reserve);
  const call = caller.ruleCall(OP.RESERVE, rule, key, given, KNOWN.reserve, waitMs);
  return madeWithin(waitMs, caller, call, given?.signal);
}

/** Reserves several costs together, and waits for room if it is asked to. */
function reserveAll(caller, items, given) {
  const waitMs = timeForRoom(given, KNOWN.reserveAll);
  const call = caller.severalCall(OP.RESERVE_ALL, items, { timeoutMs: waitMs });
  return madeWithin(waitMs, caller, call, given?.signal);
}

/** The timeout of a wait, which is a mistake of its own if it is no time: it is reported before every mistake about the rule. */
function timeoutOfWait(given, known) {
  return span('timeout', options('options', given, known).timeoutMs);
}

/** How long to wait for room, in milliseconds; not at all unless it is given. */
function timeForRoom(given, known) {
  const { waitMs = 0, renewed } = options('options', given, known);
  optional(boolean, 'renewed', renewed);
  return span('wait', waitMs);
}

function madeWithin(waitMs, caller, call, signal) {
  const mayWait = waitMs > 0 || signal !== undefined;
  return mayWait ? caller.wait(call, signal) : caller.makeLong(call);
}

module.exports = { reserve, reserveAll, wait, waitAll };
