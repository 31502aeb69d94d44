'use strict';

// What becomes of requests, as an application says it, and the answers of HTTP to them: of the middleware and of limits at routes.

/** @import { RateLimitOptions } from './types.js' */

const { debuglog } = require('node:util');
const { number, text, wrongType } = require('./arguments.js');
const { SluicegateError, WrongTypeError, invalidArgument, succeeded } = require('./error.js');
const { ensureStyle } = require('./headers.js');
const native = require('./native.js');
const { Peers } = require('./peers.js');
const { headersByTemplate } = require('./templates.js');

const debug = debuglog('sluicegate');

const ON_ERROR = new Set(['admit', 'deny', 'throw']);
const FORWARDED = new Set(['x-forwarded-for', 'forwarded']);

/** The names of the options that `policyOf` reads. */
const POLICY = ['trustedProxies', 'forwardedHeader', 'headers', 'onError', 'log', 'maxLeaseSeconds'];

/** @param {RateLimitOptions<unknown>} options */
function policyOf({
  trustedProxies = 0,
  forwardedHeader = 'x-forwarded-for',
  headers: style = 'ietf',
  onError = 'admit',
  log,
  maxLeaseSeconds = 3600,
}) {
  ensureProxies(trustedProxies, forwardedHeader);
  if (!(number('maxLeaseSeconds', maxLeaseSeconds) > 0 && maxLeaseSeconds < Infinity)) {
    throw invalidArgument(`maxLeaseSeconds ${maxLeaseSeconds}: must be above 0 and finite`);
  }
  if (!ON_ERROR.has(text('onError', onError))) throw invalidArgument('onError must be "admit", "deny" or "throw"');
  text('headers', style);
  ensureStyle(style);
  return {
    trustedProxies,
    forwardedHeader,
    style,
    onError,
    log: finder('log', log),
    // Where it is left out, Fastify has a log of its own.
    givenLog: log,
    // Where nobody listens, what happens once in a long while is said by Node.
    warn: log ?? process.emitWarning,
    maxLeaseSeconds,
    peers: new Peers(),
  };
}

/** What is wrong with them is found now, and not with the first request. */
function ensureProxies(trustedProxies, forwardedHeader) {
  if (!Array.isArray(trustedProxies) && (!Number.isInteger(number('trustedProxies', trustedProxies)) || trustedProxies < 0)) {
    throw invalidArgument('trustedProxies must be a whole number, 0 or more, or an array of networks');
  }
  if (Array.isArray(trustedProxies)) trustedProxies.forEach((network, at) => text(`trustedProxies[${at}]`, network));
  if (!FORWARDED.has(text('forwardedHeader', forwardedHeader))) {
    throw invalidArgument('forwardedHeader must be "x-forwarded-for" or "forwarded"');
  }
  succeeded(native.clientAddress(undefined, undefined, trustedProxies, forwardedHeader));
}

/**
 * @param {string} name
 * @param {Function} [value]
 */
function finder(name, value = () => undefined) {
  if (typeof value !== 'function') throw wrongType(name, 'a function', value);
  return value;
}

/**
 * The address of the client behind the proxies that are trusted, if there is one. Node joins several lines of a header.
 *
 * @param {string | undefined} peer
 * @param {string | undefined} lines Those of the header in which proxies name it.
 */
function clientOf(peer, lines, { trustedProxies, forwardedHeader }) {
  return /** @type {string | undefined} */ (succeeded(native.clientAddress(peer, lines, trustedProxies, forwardedHeader))[0]);
}

/** With `NODE_DEBUG=sluicegate`. */
function sayShadow(decision) {
  if (!decision.shadowDenied || !debug.enabled) return;
  const parts = decision.parts.length > 0 ? decision.parts : [decision];
  debug('a rule in shadow would deny this request: %s', parts.filter((part) => part.shadowDenied).map((part) => part.rule).join(', '));
}

/**
 * The headers for the answer of the application, or the answer to a request that is denied. With the type of a body that is
 * gRPC's, here and below, the answer is a status of gRPC.
 */
function decided(decision, { style }, contentType) {
  sayShadow(decision);
  if (decision.allowed) return { headers: style === 'none' ? {} : headersByTemplate(decision, style) };
  return answer(native.answerDenied(decision, decision.parts, style, contentType));
}

/** Likewise if the limiter answered with an error. */
function undecided(error, { onError }, log, contentType) {
  if (!(error instanceof SluicegateError)) throw error;
  // A function of the application answered a value of the wrong type.
  if (error instanceof WrongTypeError) throw error;
  // The application names a rule that there is not, or not any more.
  if (error.code === 'UnknownRule' || error.code === 'InvalidRule') throw error;
  // Whatever is wrong with a request was sent by its client.
  if (error.code === 'InvalidArgument') return invalid(error.message, contentType);
  if (onError === 'throw') throw error;
  log(error);
  if (onError === 'admit') return { headers: {} };
  return answer(native.answerUndecided(contentType));
}

/** The answer to a request that makes no sense. */
function invalid(message, contentType) {
  return answer(native.answerInvalid(message, contentType));
}

/**
 * The headers of a denial for an answer of the application's own, which states its type itself.
 *
 * @param {Record<string, string>} headers
 */
function untyped(headers) {
  const names = Object.keys(headers);
  // Where an application goes on there is none.
  if (!names.some(isContentType)) return headers;
  return Object.fromEntries(names.filter((name) => !isContentType(name)).map((name) => [name, headers[name]]));
}

function isContentType(name) {
  return name.toLowerCase() === 'content-type';
}

/** Problem details (RFC 9457), or a status of gRPC. */
function answer({ status, headers, body }) {
  return { status, headers: Object.fromEntries(headers), body };
}

module.exports = { POLICY, clientOf, decided, finder, invalid, policyOf, undecided, untyped };
