'use strict';

// The functions by which an application says whom a limit counts, by how much, and what becomes of the request.

const { number, text, wrongType } = require('../arguments.js');
const { invalidArgument } = require('../error.js');

/** From this status on an answer is a failure. */
const FAILURE = 400;

const WORDS = { count: ['all', 'failures', 'successes'], noAddress: ['deny', 'shared', 'skip'] };
const NUMBERS = ['cost', 'limit'];

/** The names of all hooks. */
const HOOKS = ['key', 'userId', 'skip', 'onDenied', 'onDecision', ...NUMBERS, ...Object.keys(WORDS)];

/** Those of middleware, besides what it finds in requests. */
const MATCHING_HOOKS = ['key', 'skip', 'cost', 'limit', 'count', 'onDenied', 'onDecision'];

/** What becomes of a request whose answer nobody can judge. */
const CHARGED = 'a request is charged';

/** A function of the application did not do what it has to. The message names route and function, and never a key. */
class HookError extends Error {
  get name() {
    return 'HookError';
  }
}

/** The hooks among these options, checked. */
function hooksOf(given) {
  const hooks = { count: 'all', noAddress: 'shared' };
  for (const name of HOOKS) {
    const value = given[name];
    if (value === undefined) continue;
    if (WORDS[name] && typeof value !== 'function') ensureWord(name, value);
    else if (NUMBERS.includes(name) && typeof value !== 'function') ensureWhole(name, value);
    else if (typeof value !== 'function') throw wrongType(name, 'a function', value);
    hooks[name] = value;
  }
  if (Object.prototype.toString.call(hooks.count) === '[object AsyncFunction]') {
    throw invalidArgument('count must be a function that is not async: nobody awaits it');
  }
  if (typeof hooks.noAddress === 'function') throw wrongType('noAddress', 'a string', hooks.noAddress);
  return hooks;
}

function ensureWhole(name, value) {
  if (Number.isInteger(number(name, value)) && value >= 1) return;
  throw invalidArgument(`${name} ${value}: must be a whole number, at least 1 (\`skip\` exempts requests)`);
}

function ensureWord(name, value) {
  if (WORDS[name].includes(text(name, value))) return;
  const known = WORDS[name].map((word) => `"${word}"`).join(', ');
  throw invalidArgument(`${name} must be one of ${known}${name === 'count' ? ' or a function' : ''}`);
}

/**
 * Calls a function of the application. What it throws is its mistake, except for an error with the status of an answer,
 * which the framework answers with.
 *
 * @param {string} where What messages call the route.
 * @param {string} name
 */
async function ask(where, name, hook, ...args) {
  try {
    return await hook(...args);
  } catch (error) {
    throw statusOf(error) === undefined ? thrown(where, name, error) : error;
  }
}

/** The status of an answer, which errors of frameworks name in one of three ways. */
function statusOf(error) {
  const status = error?.getStatus?.() ?? error?.statusCode ?? error?.status;
  return Number.isInteger(status) && status >= FAILURE && status < 600 ? status : undefined;
}

/** The message of the original error may hold a key, so only where it was thrown is kept of it. */
function thrown(where, name, original) {
  const error = new HookError(`${where}: ${name} threw ${original?.constructor?.name ?? typeof original}`);
  const frames = String(original?.stack ?? '').split('\n').filter((line) => /^ +at /.test(line));
  if (frames.length > 0) error.stack = [`HookError: ${error.message}`, ...frames].join('\n');
  return error;
}

/** A cost or a limit, which a function may say; of a limit `undefined`: the rule's. */
async function numberOf(where, name, stated, ...args) {
  if (typeof stated !== 'function') return stated;
  const value = await ask(where, name, stated, ...args);
  return name === 'limit' && (value === undefined || value === null) ? undefined : whole(where, name, value);
}

/** A cost or a limit that a function returned. */
function whole(where, name, value) {
  if (Number.isInteger(value) && value >= 1) return value;
  throw new HookError(
    `${where}: ${name} returned ${shown(value)} (return a whole number from 1 on; \`skip\` exempts requests)`,
  );
}

/** Whom a function named: a text, a number or several texts. */
function keyNamed(where, name, value) {
  if (isText(value)) return value;
  if (isWhole(value) && value != 0) return String(value);
  if (Array.isArray(value) && value.length > 0 && value.every((part) => isText(part) || isWhole(part))) return value.map(String);
  // A number may be somebody's.
  const what = typeof value === 'number' && value !== 0 ? 'a number' : shown(value);
  throw new HookError(
    `${where}: ${name} returned ${what} (return a text that is not empty, a number other than 0, or an array of ` +
      'these; `skip` exempts requests)',
  );
}

function isWhole(value) {
  return Number.isSafeInteger(value) || typeof value === 'bigint';
}

function isText(value) {
  return typeof value === 'string' && value !== '';
}

/** What `onDenied` returned is no answer. */
function noAnswer(where, value, wanted) {
  return new HookError(`${where}: onDenied returned ${shown(value)} (${wanted})`);
}

/** What `onDenied` returned, where that is thrown. */
function errorFrom(where, value) {
  if (value instanceof Error) return value;
  throw noAnswer(where, value, 'return an error');
}

/** Whether a value that `onDenied` returned, and that its framework does not send, was meant as the answer. */
function isPayload(value) {
  // Functions chain, and assignments and lengths are returned by the way: only what is made to be read is an answer.
  if (typeof value !== 'object' || value === null) return ['string', 'bigint'].includes(typeof value);
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
}

/** What may be told of a value: a key is not. */
function shown(value) {
  if (value === '') return '""';
  if (value === undefined || value === null || typeof value === 'boolean' || typeof value === 'number') return String(value);
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** Whether what was reserved is charged, now that the answer is known. */
function isKept({ count }, response, status) {
  if (typeof count === 'function') return judgement(count, response);
  return count === 'all' || (count === 'failures') === status >= FAILURE;
}

/** What a function says of an answer. A promise would be true, whatever it leads to. */
function judgement(count, response) {
  let value;
  try {
    value = count(response);
  } catch (error) {
    throw thrown(CHARGED, 'count', error);
  }
  if (typeof value?.then !== 'function') return Boolean(value);
  Promise.resolve(value).catch(() => {});
  throw new HookError(`${CHARGED}: count returned a promise (return true or false)`);
}

module.exports = { HOOKS, HookError, MATCHING_HOOKS, ask, errorFrom, hooksOf, isKept, isPayload, keyNamed, noAnswer, numberOf, statusOf };
