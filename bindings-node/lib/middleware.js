'use strict';

// What the middleware for Express and that for Fastify have in common.

/** @import { RateLimitOptions } from './types.js' */

const { STATUS_CODES } = require('node:http');
const { number, options, text, wrongType } = require('./arguments.js');
const { clientAddress } = require('./client.js');
const { SluicegateError, invalidArgument } = require('./error.js');
const { ensureStyle, headers } = require('./headers.js');

const OPTIONS = new Set(['userId', 'apiKey', 'trustedProxies', 'headers', 'onError', 'log']);
const ON_ERROR = new Set(['admit', 'deny', 'throw']);

/**
 * Makes the function that judges requests: `request` as the framework has it, `raw` as Node has it, and the target
 * that the client sent. It answers the headers of the response and, for a request that goes no further, the rest
 * of it too: `status` and `body`.
 */
function judgeBy(limiter, given) {
  if (typeof limiter?.checkRequest !== 'function') throw wrongType('limiter', 'a RateLimiter', limiter);
  const policy = policyOf(options('options', given, OPTIONS));
  return async (request, raw, target, log = policy.log) => {
    const facts = await factsOf(request, raw, target, policy);
    try {
      return decided(await limiter.checkRequest(facts), policy);
    } catch (error) {
      return undecided(error, policy, log);
    }
  };
}

/** @param {RateLimitOptions<unknown>} options */
function policyOf({ userId, apiKey, trustedProxies = 0, headers: style = 'ietf', onError = 'admit', log }) {
  if (!Number.isInteger(number('trustedProxies', trustedProxies)) || trustedProxies < 0) {
    throw invalidArgument('trustedProxies must be a whole number, 0 or more');
  }
  if (!ON_ERROR.has(text('onError', onError))) throw invalidArgument('onError must be "admit", "deny" or "throw"');
  text('headers', style);
  ensureStyle(style);
  return {
    userId: finder('userId', userId),
    apiKey: typeof apiKey === 'string' ? fromHeader(apiKey) : finder('apiKey', apiKey),
    trustedProxies,
    style,
    onError,
    log: finder('log', log),
  };
}

/**
 * @param {string} name
 * @param {Function} [value]
 */
function finder(name, value = () => undefined) {
  if (typeof value !== 'function') throw wrongType(name, 'a function', value);
  return value;
}

function fromHeader(name) {
  const field = text('apiKey', name).toLowerCase();
  return (_, raw) => raw.headers[field] && decoded(raw.headers[field]);
}

async function factsOf(request, raw, target, { userId, apiKey, trustedProxies }) {
  return {
    method: raw.method,
    path: encoded(target),
    userId: await userId(request),
    apiKey: await apiKey(request, raw),
    ip: clientAddress(raw, trustedProxies),
    headers: headersOf(raw),
  };
}

/** In HTTP/2, what has a colon in front is no header. */
function headersOf(raw) {
  const named = Object.entries(raw.headers).filter(([name]) => !name.startsWith(':'));
  return named.flatMap(([name, value]) => [value].flat().map((line) => [name, decoded(line)]));
}

/** Node takes the bytes of a header for Latin-1, and clients send UTF-8. What is neither is kept as well as may be. */
function decoded(value) {
  return Buffer.from(value, 'latin1').toString();
}

/** What no request line should have, in a form that is matched like what it should have had. */
function encoded(target) {
  const byte = (character) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
  return target.replace(/[^\x21-\x7e]/g, byte);
}

function decided(decision, { style }) {
  const told = headers(decision, style);
  if (decision.allowed) return { headers: told };
  return problem(429, { detail: when(decision.retryAfterMs), rule: decision.rule }, told);
}

function undecided(error, { onError }, log) {
  if (!(error instanceof SluicegateError)) throw error;
  // Whatever is wrong with a request was sent by its client.
  if (error.code === 'InvalidArgument') return problem(400, { detail: error.message });
  if (onError === 'throw') throw error;
  log(error);
  if (onError === 'admit') return { headers: {} };
  return problem(503, { detail: 'It cannot be decided now whether a limit is exceeded.' });
}

/** A request costs 1, and whatever its rules are, that is admitted sooner or later. */
function when(retryAfterMs) {
  const seconds = Math.ceil(retryAfterMs / 1000);
  return `Try again in ${seconds} second${seconds === 1 ? '' : 's'}.`;
}

/** Problem details (RFC 9457). */
function problem(status, members, told = {}) {
  const body = JSON.stringify({ type: 'about:blank', title: STATUS_CODES[status], status, ...members });
  return { status, headers: { ...told, 'Content-Type': 'application/problem+json' }, body };
}

module.exports = { judgeBy };
