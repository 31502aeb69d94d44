'use strict';

// Several checks of one call, checked and made ready to cross.

const { KNOWN, checkOptions, keyOf, options, text, wrongType } = require('./arguments.js');
const { Call, OP } = require('./mailbox.js');

/** Each check crosses in a row of its own; `caller` knows the places of rules. */
function severalCall(op, items, wanted, caller) {
  if (!Array.isArray(items)) throw wrongType('items', 'an array', items);
  // Not `map`, which skips holes.
  const checks = Array.from(items, (item, at) => itemCall(`items[${at}]`, item, caller));
  return new Call(op, 0, '', wanted, checks.length, checks);
}

function itemCall(name, item, caller) {
  if (item === undefined) throw wrongType(name, 'an object', item);
  const given = options(name, item, KNOWN.item);
  const rule = text(`${name}.rule`, given.rule);
  const key = keyOf(`${name}.key`, given.key);
  const wanted = checkOptions(`${name}.`, given);
  return new Call(OP.CHECK, caller.placeOf(rule), key, wanted);
}

module.exports = { severalCall };
