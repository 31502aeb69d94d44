'use strict';

// What callers pass, checked: a value of the wrong type is a WrongTypeError that names the argument; a value that makes no
// sense is a SluicegateError too, of the same kind InvalidArgument. What only the rules can tell, Rust does.

const { errorOf, invalidArgument, ofWrongType } = require('./error.js');
const native = require('./native.js');

function typeOf(value) {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value !== 'object' || hasFields(value) ? typeof value : `a ${kindOf(value)}`;
}

/** `Object` for what a program makes of fields, and `Map`, `Date` or `Promise` for what is something else. */
function kindOf(object) {
  return Object.prototype.toString.call(object).slice('[object '.length, -1);
}

function hasFields(value) {
  return typeof value === 'object' && value !== null && kindOf(value) === 'Object';
}

function wrongType(name, wanted, value) {
  return ofWrongType(`${name}: must be ${wanted}, not ${typeOf(value)}`);
}

function text(name, value) {
  if (typeof value !== 'string') throw wrongType(name, 'a string', value);
  // Half a surrogate pair has no UTF-8: it would be stored as U+FFFD, as any other half.
  if (!value.isWellFormed()) throw invalidArgument(`${name} is not well-formed Unicode`);
  return value;
}

/** Who or what is counted: a text, or an integer such as the primary key of a row, which is its decimal text. */
function nameOf(name, value) {
  if (typeof value === 'string') return text(name, value);
  // From 2^53 on, several integers are one number.
  if (Number.isSafeInteger(value) || typeof value === 'bigint') return `${value}`;
  if (typeof value === 'number') throw ofWrongType(`${name}: must be a string, a bigint or an integer below 2^53, not ${value}`);
  throw wrongType(name, 'a string or an integer', value);
}

/** A key; the parts of an array are joined. */
function keyOf(name, value) {
  if (!Array.isArray(value)) return nameOf(name, value);
  // Not `map`, which skips holes.
  return textOf(native.joinKey(Array.from(value, (part, at) => nameOf(`${name}[${at}]`, part))));
}

/** The key of the client with an address. */
function addressKeyOf(ip, prefixLength) {
  return textOf(native.addressKey(text('ip', ip), number('prefixLength', prefixLength)));
}

/** A text of the native part, unless it answers with what went wrong. */
function textOf(answer) {
  if (typeof answer !== 'string') throw errorOf(answer);
  return answer;
}

function number(name, value) {
  if (typeof value !== 'number') throw wrongType(name, 'a number', value);
  return value;
}

function boolean(name, value) {
  if (typeof value !== 'boolean') throw wrongType(name, 'a boolean', value);
  return value;
}

/** What the native part can hold has to be below this. */
const TOO_LARGE = 2 ** 63;

/** A cost or a limit; whether it is in range depends on the rule. */
function amount(name, value, least = 1) {
  if (!(Number.isInteger(number(name, value)) && value >= 0 && value < TOO_LARGE)) {
    const exact = Number.isInteger(value) ? BigInt(value) : value;
    throw invalidArgument(`${name} ${exact}: must be a whole number, at least ${least} and below 2^53`);
  }
  return value;
}

/** A span of time, in milliseconds; `Infinity` is one. Its name in messages is that of every language. */
function span(name, value) {
  if (!(number(`${name}Ms`, value) >= 0)) throw invalidArgument(`${name} must be 0 or more`);
  return value;
}

/** The whole time of a call, in milliseconds. What is below zero, or no number, becomes zero, which Rust refuses. */
function timeout(name, value) {
  return number(name, value) > 0 ? value : 0;
}

/** One of a list of pairs. */
function pair(name, value) {
  if (!Array.isArray(value) || value.length !== 2) throw ofWrongType(`${name}: must be pairs of a name and a value`);
  return value;
}

/** An object of options, all of which have names in `known`: a misspelt one must not be ignored. */
function options(name, value, known) {
  if (value === undefined) return {};
  if (!hasFields(value)) throw wrongType(name, 'an object', value);
  for (const field in value) {
    if (!known.has(field)) {
      throw ofWrongType(`${name}: ${field} is not known; there is ${[...known].join(', ')}`);
    }
  }
  return value;
}

/** `check(name, value)`, unless the value is left out. */
function optional(check, name, value) {
  return value === undefined ? undefined : check(name, value);
}

/** The names of the options of calls. */
const PEEK = ['cost', 'resource', 'limit', 'timeoutMs'];
const KNOWN = Object.freeze({
  peek: new Set(PEEK),
  check: new Set([...PEEK, 'requestId']),
  checkAll: new Set(['requestId']),
  reset: new Set(['resource', 'timeoutMs']),
  wait: new Set(['signal', ...PEEK]),
  waitAll: new Set(['timeoutMs', 'signal']),
  change: new Set(['timeoutMs']),
  setLimit: new Set(['expiresInMs', 'timeoutMs']),
  reserve: new Set(['waitMs', 'signal', 'renewed', ...PEEK]),
  reserveAll: new Set(['waitMs', 'signal', 'renewed']),
  ping: new Set(['timeoutMs']),
  match: new Set(['explain']),
  item: new Set(['rule', 'key', ...PEEK]),
});

/** Cost, resource, limit, timeout and request id, checked; messages have `prefix` before their names. */
function checkOptions(prefix, { cost, resource, limit, timeoutMs, requestId }) {
  return {
    cost: optional(amount, `${prefix}cost`, cost),
    resource: optional(nameOf, `${prefix}resource`, resource),
    limit: optional(amount, `${prefix}limit`, limit),
    timeoutMs: optional(timeout, `${prefix}timeoutMs`, timeoutMs),
    requestId: optional(text, `${prefix}requestId`, requestId),
  };
}

/** The options of a call, which may have those in `known`, checked; `undefined` where there are none. */
function callOptions(given, known) {
  return given === undefined ? undefined : checkOptions('', options('options', given, known));
}

module.exports = {
  KNOWN, addressKeyOf, amount, boolean, callOptions, checkOptions, keyOf, nameOf, number, optional, options, pair, span, text, timeout, wrongType,
};
