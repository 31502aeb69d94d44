'use strict';

// The options of `connect`, checked and made into those of the native part.

const { number, optional, options, text, wrongType } = require('./arguments.js');
const { ManualClock, nativeOf } = require('./clock.js');
const { invalidArgument } = require('./error.js');

const NAMES = new Set([
  'rules', 'rulesCache', 'prefix', 'clock', 'connectTimeoutMs', 'responseTimeoutMs', 'tlsCa', 'tlsCert', 'tlsKey',
  'identifierSecret', 'maxKeys', 'breakerFailures', 'breakerProbeMs', 'requestIdSeconds',
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
    identifierSecret: optional(text, 'identifierSecret', given.identifierSecret),
    maxKeys: optional(keys, 'maxKeys', given.maxKeys),
    breakerFailures: optional(calls, 'breakerFailures', given.breakerFailures),
    breakerProbeMs: optional(number, 'breakerProbeMs', given.breakerProbeMs),
    requestIdSeconds: optional(seconds, 'requestIdSeconds', given.requestIdSeconds),
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

/** How many keys; the native part refuses what is below 1. */
function keys(name, value) {
  if (!Number.isInteger(number(name, value))) throw invalidArgument(`max_keys ${value}: must be a whole number`);
  return value;
}

/** How many calls; 0 is a number of its own. */
function calls(name, value) {
  if (!Number.isInteger(number(name, value)) || value < 0) {
    throw invalidArgument(`breaker_failures ${value}: must be a whole number, 0 or more`);
  }
  return value;
}

/** Whole seconds; the native part refuses what is below 1. */
function seconds(name, value) {
  if (!Number.isInteger(number(name, value))) throw invalidArgument(`request_id_seconds ${value}: must be a whole number`);
  return value;
}

function clock(name, value) {
  if (!(value instanceof ManualClock)) throw wrongType(name, 'a ManualClock', value);
  return nativeOf(value);
}

module.exports = { connectOptions };
