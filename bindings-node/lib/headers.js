'use strict';

/** @import { Decision, HeaderStyle } from './index.js' */

const { text, wrongType } = require('./arguments.js');
const { ofWrongType, succeeded } = require('./error.js');
const native = require('./native.js');

/** A decision without headers. */
const UNTOLD = Object.freeze({
  allowed: true,
  rule: '',
  ruleApplied: false,
  limit: 0,
  windowMs: 0,
  remaining: 0,
  retryAfterMs: 0,
  resetAfterMs: 0,
  blocked: false,
  replicated: false,
  shadow: false,
  shadowDenied: false,
  source: 'memory',
  parts: [],
});

/**
 * The headers of the answer to the request that was decided on, names and values, with `Retry-After` on a denial
 * unless the cost can never fit. Rules in shadow are not mentioned, and without a rule that applied there are no
 * headers. `response.set` of Express and `reply.headers` of Fastify take them.
 *
 * @param {Decision} decision
 * @param {HeaderStyle} [style]
 * @returns {Record<string, string>}
 */
function headers(decision, style = 'ietf') {
  if (typeof decision !== 'object' || decision === null) throw wrongType('decision', 'a decision', decision);
  return Object.fromEntries(succeeded(nativeHeaders(decision, text('style', style))));
}

function nativeHeaders(decision, style) {
  try {
    return native.headers(decision, decision.parts, style);
  } catch (error) {
    throw ofWrongType(`decision: must be one of this package: ${error.message}`);
  }
}

/**
 * Refuses a style that there is not.
 *
 * @param {HeaderStyle} style
 */
function ensureStyle(style) {
  headers(UNTOLD, style);
}

module.exports = { ensureStyle, headers };
