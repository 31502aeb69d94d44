'use strict';

// The options of `connect`, checked and made into those of the native part.

const { boolean, number, options, text, wrongType } = require('./arguments.js');
const { ManualClock, nativeOf } = require('./clock.js');
const { credentials } = require('./credentials.js');
const { ofWrongType } = require('./error.js');
const { OPTIONS } = require('./table.js');

const NAMES = new Set(['rules', ...Object.keys(OPTIONS)]);
const KINDS = { text, number, clock, credentials, object, flag };
/** Where values go that have no place of their own. */
const PLACES = { object: 'text', flag: 'number' };

/** The rules, the clock and the function for credentials, and all texts and numbers that are given, by their names in core. */
function connectOptions(value) {
  const { rules, ...given } = options('options', value, NAMES);
  const checked = { text: {}, number: {}, clock: {}, credentials: {} };
  for (const [name, option] of Object.entries(given)) {
    if (option === undefined) continue;
    const [known, kind] = OPTIONS[name];
    checked[PLACES[kind] ?? kind][known] = KINDS[kind](name, option);
  }
  return { ...rulesOf(rules), ...checked, clock: checked.clock.clock, credentials: checked.credentials.credentials };
}

function rulesOf(rules) {
  if (typeof rules === 'string') return { rules: text('rules', rules) };
  const rulesJson = typeof rules === 'object' && rules !== null ? json(rules) : undefined;
  if (rulesJson === undefined) throw wrongType('rules', 'a path, JSON text, or an array of rules', rules);
  return { rulesJson };
}

/** Rules in an argument, as JSON. */
function rulesJson(rules) {
  if (typeof rules === 'string') return text('rules', rules);
  const made = typeof rules === 'object' && rules !== null ? json(rules) : undefined;
  if (made === undefined) throw wrongType('rules', 'JSON text or an array of rules', rules);
  return made;
}

function json(value, name = 'rules') {
  try {
    return JSON.stringify(value);
  } catch (error) {
    throw ofWrongType(`${name}: ${error.message}`);
  }
}

/** An object of names as JSON. */
function object(name, value) {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrongType(name, 'an object', value);
  return json(value, name);
}

/** True or false as a number. */
function flag(name, value) {
  return Number(boolean(name, value));
}

function clock(name, value) {
  if (!(value instanceof ManualClock)) throw wrongType(name, 'a ManualClock', value);
  return nativeOf(value);
}

module.exports = { connectOptions, rulesJson };
