'use strict';

// The options of `connect`, checked and made into those of the native part.

const { number, optional, options, text, wrongType } = require('./arguments.js');
const { ManualClock, nativeOf } = require('./clock.js');
const { invalidArgument } = require('./error.js');

const NAMES = new Set([
  'rules', 'prefix', 'clock', 'connectTimeoutMs', 'responseTimeoutMs', 'tlsCa', 'tlsCert', 'tlsKey',
]);

/** JSON begins with a bracket, a brace or a comment; no path to a file of rules does. */
const JSON_TEXT = /^\uFEFF?\s*(?:[[{]|\/[/*])/;

function connectOptions(value) {
  const given = options('options', value, NAMES);
  if ((given.tlsCert === undefined) !== (given.tlsKey === undefined)) {
    throw invalidArgument('tls_cert and tls_key must be given together');
  }
  return {
    ...rulesOf(given.rules),
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
  if (rules === undefined) return {};
  if (typeof rules === 'string') {
    return JSON_TEXT.test(text('rules', rules)) ? { rulesJson: rules } : { rulesPath: rules };
  }
  if (typeof rules !== 'object' || rules === null) {
    throw wrongType('rules', 'a path, JSON text, or an array of rules', rules);
  }
  try {
    return { rulesJson: JSON.stringify(rules) };
  } catch (error) {
    throw new TypeError(`rules: ${error.message}`, { cause: error });
  }
}

function clock(name, value) {
  if (!(value instanceof ManualClock)) throw wrongType(name, 'a ManualClock', value);
  return nativeOf(value);
}

module.exports = { connectOptions };
