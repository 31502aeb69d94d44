'use strict';

// The options of `connect`, checked and made into those of the native part.

const { number, optional, options, text, wrongType } = require('./arguments.js');
const { ManualClock, nativeOf } = require('./clock.js');

const NAMES = new Set([
  'rules', 'rulesCache', 'prefix', 'clock', 'connectTimeoutMs', 'responseTimeoutMs', 'tlsCa', 'tlsCert', 'tlsKey',
]);

function connectOptions(value) {
  const given = options('options', value, NAMES);
  return {
    ...rulesOf(given.rules),
    rulesCache: optional(text, 'rulesCache', given.rulesCache),
    prefix: optional(text, 'prefix', given.prefix),
    clock: optional(clock, 'clock', given.clock),
    connectTimeoutMs: optional(number, 'connectTimeoutMs', given.connectTimeoutMs),
    responseTimeoutMs: optional(number, 'responseTimeoutMs', given.responseTimeoutMs),
    tlsCa: optional(text, 'tlsCa', given.tlsCa),
    tlsCert: optional(text, 'tlsCert', given.tlsCert),
    tlsKey: optional(text, 'tlsKey', given.tlsKey),
  };
}

function rulesOf(rules) {
  if (typeof rules === 'string') return { rules: text('rules', rules) };
  const rulesJson = typeof rules === 'object' && rules !== null ? json(rules) : undefined;
  if (rulesJson === undefined) throw wrongType('rules', 'a path, JSON text, or an array of rules', rules);
  return { rulesJson };
}

function json(rules) {
  try {
    return JSON.stringify(rules);
  } catch (error) {
    throw new TypeError(`rules: ${error.message}`, { cause: error });
  }
}

function clock(name, value) {
  if (!(value instanceof ManualClock)) throw wrongType(name, 'a ManualClock', value);
  return nativeOf(value);
}

module.exports = { connectOptions };
