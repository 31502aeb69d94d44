'use strict';

const { text, wrongType } = require('./arguments.js');
const { succeeded } = require('./error.js');
const native = require('./native.js');

/** A decision of which nothing is told. */
const UNTOLD = Object.freeze({
  allowed: true,
  rule: '',
  limit: 0,
  windowMs: 0,
  remaining: 0,
  retryAfterMs: 0,
  resetAfterMs: 0,
  shadow: false,
  parts: [],
});

/**
 * The headers of the answer to the request that was decided on, as an object, which is what `response.set`
 * of Express and `reply.headers` of Fastify take.
 */
function headers(decision, style = 'ietf') {
  if (typeof decision !== 'object' || decision === null) throw wrongType('decision', 'a decision', decision);
  return Object.fromEntries(succeeded(told(decision, text('style', style))));
}

function told(decision, style) {
  try {
    return native.headers(decision, decision.parts, style);
  } catch (error) {
    throw new TypeError(`decision: must be one of this package: ${error.message}`, { cause: error });
  }
}

/** Refuses a style that there is not. */
function ensureStyle(style) {
  headers(UNTOLD, style);
}

module.exports = { ensureStyle, headers };
