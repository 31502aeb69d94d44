'use strict';

// What the middleware for Express and that for Fastify have in common.

/** @import { RateLimitOptions } from './types.js' */

const { debuglog } = require('node:util');
const { boolean, number, optional, options, text, wrongType } = require('./arguments.js');
const { SluicegateError, invalidArgument } = require('./error.js');
const { ensureStyle, headers } = require('./headers.js');
const { holdDuring } = require('./inflight.js');
const native = require('./native.js');

const debug = debuglog('sluicegate');

const OPTIONS = new Set(['userId', 'apiKey', 'trustedProxies', 'headers', 'onError', 'log', 'ignoreCase', 'maxLeaseSeconds']);
const ON_ERROR = new Set(['admit', 'deny', 'throw']);

/**
 * Makes the function that judges requests: `request` as the framework has it, `raw` as Node has it, and `route`: the
 * target that the client sent, others that the application may act on, and whether the application routes without
 * regard to capitals, which an option overrules. It answers the headers of the response and, for a request that goes no further, the rest
 * of it too: `status` and `body`. What is reserved for the request is held until `response`, as Node has it, is over.
 */
function judgeBy(limiter, given) {
  if (typeof limiter?.reserveRequest !== 'function') throw wrongType('limiter', 'a RateLimiter', limiter);
  const policy = policyOf(options('options', given, OPTIONS));
  return async (request, raw, response, route, /** @type {{ log: Function, warn: Function }} */ { log, warn } = policy) => {
    const asked = await requestOf(request, raw, route, policy);
    try {
      const held = await limiter.reserveRequest(asked);
      request.rateLimit = held;
      sayShadow(held);
      if (held.id !== undefined) {
        request.reservation = held;
        holdDuring(held, raw, response, { maxLeaseSeconds: policy.maxLeaseSeconds, log, warn });
      }
      return decided(held, policy);
    } catch (error) {
      return undecided(error, policy, log);
    }
  };
}

/** @param {RateLimitOptions<unknown>} options */
function policyOf({ userId, apiKey, trustedProxies = 0, headers: style = 'ietf', onError = 'admit', log, ignoreCase, maxLeaseSeconds = 3600 }) {
  if (!Number.isInteger(number('trustedProxies', trustedProxies)) || trustedProxies < 0) {
    throw invalidArgument('trustedProxies must be a whole number, 0 or more');
  }
  if (!(number('maxLeaseSeconds', maxLeaseSeconds) > 0 && maxLeaseSeconds < Infinity)) {
    throw invalidArgument(`maxLeaseSeconds ${maxLeaseSeconds}: must be above 0 and finite`);
  }
  if (!ON_ERROR.has(text('onError', onError))) throw invalidArgument('onError must be "admit", "deny" or "throw"');
  text('headers', style);
  ensureStyle(style);
  return {
    userId: finder('userId', userId),
    apiKey: finder('apiKey', typeof apiKey === 'string' ? undefined : apiKey),
    apiKeyHeader: typeof apiKey === 'string' ? headerName(apiKey) : undefined,
    trustedProxies,
    style,
    onError,
    log: finder('log', log),
    // Where nobody listens, what happens once in a long while is said by Node.
    warn: log ?? process.emitWarning,
    maxLeaseSeconds,
    ignoreCase: optional(boolean, 'ignoreCase', ignoreCase),
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

function headerName(name) {
  if (!native.isHeaderName(name)) {
    throw invalidArgument('apiKey must be a function, or the name of an HTTP header');
  }
  return name;
}

async function requestOf(request, raw, { target, otherTargets, ignoreCase }, policy) {
  const otherPaths = [...otherTargets.map(asCharacters), asBytes(target)];
  return {
    method: raw.method,
    path: asCharacters(target),
    userId: await policy.userId(request),
    apiKey: await policy.apiKey(request),
    // Node joins several lines.
    ip: native.clientAddress(raw.socket.remoteAddress, raw.headers['x-forwarded-for'], policy.trustedProxies) ?? undefined,
    headers: headersOf(raw),
    apiKeyHeader: policy.apiKeyHeader,
    otherPaths: otherPaths.filter((other) => other !== target),
    ignoreCase: policy.ignoreCase ?? ignoreCase,
  };
}

/** Every line that the client sent: Node's own `headers` leaves some out. In HTTP/2, a name with a colon is none. */
function headersOf({ rawHeaders }) {
  const lines = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (!rawHeaders[at].startsWith(':')) lines.push([rawHeaders[at], decoded(rawHeaders[at + 1])]);
  }
  return lines;
}

/** Node takes the bytes of a header for Latin-1, and clients send UTF-8. What is neither is kept as well as may be. */
function decoded(value) {
  return Buffer.from(value, 'latin1').toString();
}

/** Node and the frameworks take each byte that no request line should have for a character. */
function asCharacters(target) {
  return target.toWellFormed().replace(/[^\x21-\x7e]/gu, encodeURIComponent);
}

/** Others take such bytes for UTF-8. */
function asBytes(target) {
  return target.replace(/[^\x21-\x7e]/g, (byte) => `%${byte.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

/** With `NODE_DEBUG=sluicegate`. */
function sayShadow(decision) {
  if (!decision.shadowDenied || !debug.enabled) return;
  const parts = decision.parts.length > 0 ? decision.parts : [decision];
  debug('a rule in shadow would deny this request: %s', parts.filter((part) => part.shadowDenied).map((part) => part.rule).join(', '));
}

function decided(decision, { style }) {
  if (decision.allowed) return { headers: headers(decision, style) };
  return answer(native.answerDenied(decision, decision.parts, style));
}

function undecided(error, { onError }, log) {
  if (!(error instanceof SluicegateError)) throw error;
  // Whatever is wrong with a request was sent by its client.
  if (error.code === 'InvalidArgument') return answer(native.answerInvalid(error.message));
  if (onError === 'throw') throw error;
  log(error);
  if (onError === 'admit') return { headers: {} };
  return answer(native.answerUndecided());
}

/** Problem details (RFC 9457). */
function answer({ status, headers, body }) {
  return { status, headers: Object.fromEntries(headers), body };
}

module.exports = { judgeBy };
