'use strict';

// What the middleware for Express and that for Fastify have in common.

/** @import { RateLimitOptions } from './types.js' */

const { boolean, optional, options, wrongType } = require('./arguments.js');
const { invalidArgument } = require('./error.js');
const { contentTypeOf } = require('./grpc.js');
const native = require('./native.js');
const { POLICY, clientOf, decided, finder, invalid, policyOf, undecided, untyped } = require('./policy.js');
const { NoHeader } = require('./routes/keys.js');
const { headersOf } = require('./raw.js');

const { MATCHING_HOOKS, isKept, keyNamed } = require('./routes/hooks.js');
const { Matching } = require('./routes/matching.js');
const { holdFor } = require('./routes/node.js');

const OPTIONS = new Set(['userId', 'apiKey', 'ignoreCase', 'rules', ...MATCHING_HOOKS, ...POLICY]);

/**
 * Makes the function that judges requests: `request` as the framework has it, `raw` as Node has it, and `route`: the
 * target that the client sent, others that the application may act on, and whether the application routes without
 * regard to capitals, which an option overrules. It answers the headers of the response and, for a request that goes no further, the rest
 * of it too: `status` and `body`, and `answer`, a function that calls `onDenied` if there is one. What is reserved for the request is held until `response`, as Node has it, is over.
 */
function judgeBy(limiter, given) {
  if (typeof limiter?.then !== 'function') return judgeWith(limiter, given);
  // What is wrong with them is found now.
  requestPolicyOf(options('options', given, OPTIONS));
  const judging = Promise.resolve(limiter).then((limiter) => judgeWith(limiter, given));
  // Each request throws the error; without a request nobody has to handle it.
  judging.catch(() => undefined);
  return async (request, raw, response, route, report) => (await judging)(request, raw, response, route, report);
}

function judgeWith(limiter, given) {
  if (typeof limiter?.reserveRequest !== 'function') throw wrongType('limiter', 'a RateLimiter', limiter);
  const wanted = options('options', given, OPTIONS);
  const policy = requestPolicyOf(wanted);
  const matching = new Matching(limiter, policy, wanted);
  return async (request, raw, response, route, /** @type {{ log: Function, warn: Function }} */ { log, warn } = policy) => {
    if (matching.hooks.skip && (await matching.ask('skip', request))) return { headers: {} };
    const asked = await requestOf(request, raw, route, policy);
    const contentType = contentTypeOf(raw.method, raw.headers['content-type']);
    let held;
    try {
      held = await matching.decide(asked, request);
    } catch (error) {
      if (error instanceof NoHeader) return invalid(error.message, contentType);
      return undecided(error, policy, log, contentType);
    }
    if (held === undefined) return { headers: {} };
    request.rateLimit = held;
    if (held.id !== undefined) {
      request.reservation = held;
      holdFor({ policy, isKept: (...answer) => isKept(matching.hooks, ...answer) }, held, raw, response, route.judged, { log, warn });
    }
    return told(matching, held, request, policy, contentType);
  };
}

async function told(matching, decision, request, policy, contentType) {
  const { onDecision, onDenied } = matching.hooks;
  // It only looks.
  if (onDecision) await matching.ask('onDecision', request, decision).catch(policy.warn);
  const ruling = decided(decision, policy, onDenied ? undefined : contentType);
  if (ruling.status === undefined || !onDenied) return ruling;
  return { ...ruling, headers: untyped(ruling.headers), answer: (...more) => matching.ask('onDenied', request, decision, ...more) };
}

/** @param {RateLimitOptions<unknown>} options */
function requestPolicyOf(options) {
  const { userId, apiKey, ignoreCase } = options;
  return {
    ...policyOf(options),
    userId: finder('userId', userId),
    apiKey: finder('apiKey', typeof apiKey === 'string' ? undefined : apiKey),
    apiKeyHeader: typeof apiKey === 'string' ? headerName(apiKey) : undefined,
    ignoreCase: optional(boolean, 'ignoreCase', ignoreCase),
  };
}

/** A user that is false, such as an empty name, would be counted by no rule for users. */
function userNamed(user) {
  return user === '' || user === 0 || user === 0n ? keyNamed('middleware', 'userId', user) : user;
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
    userId: userNamed(await policy.userId(request)),
    apiKey: await policy.apiKey(request),
    ip: clientOf(raw.socket.remoteAddress, raw.headers[policy.forwardedHeader], policy),
    headers: headersOf(raw),
    apiKeyHeader: policy.apiKeyHeader,
    otherPaths: otherPaths.filter((other) => other !== target),
    ignoreCase: policy.ignoreCase ?? ignoreCase,
  };
}

/** Node and the frameworks take each byte that no request line should have for a character. */
function asCharacters(target) {
  return target.toWellFormed().replace(/[^\x21-\x7e]/gu, encodeURIComponent);
}

/** Others take such bytes for UTF-8. */
function asBytes(target) {
  return target.replace(/[^\x21-\x7e]/g, (byte) => `%${byte.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

module.exports = { judgeBy };
