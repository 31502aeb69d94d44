'use strict';

// How a key stands: its block and its stored limit, checked and made ready to cross.

const { KNOWN, amount, number, optional } = require('./arguments.js');
const { OP } = require('./mailbox.js');

function blockCall(caller, rule, key, durationMs, given) {
  const call = caller.ruleCall(OP.BLOCK, rule, key, given, KNOWN.change);
  call.extra = number('durationMs', durationMs);
  return call;
}

/** The cost says whether the limit expires; src/calls.rs reads it so. */
function setLimitCall(caller, rule, key, limit, given) {
  const call = caller.ruleCall(OP.SET_LIMIT, rule, key, given, KNOWN.setLimit);
  call.limit = amount('limit', limit);
  const expiresInMs = optional(number, 'expiresInMs', given?.expiresInMs);
  call.cost = expiresInMs === undefined ? 0 : 1;
  call.extra = expiresInMs ?? 0;
  return call;
}

module.exports = { blockCall, setLimitCall };
