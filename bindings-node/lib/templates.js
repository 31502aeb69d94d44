'use strict';

// Headers of decisions that admit, which differ in two numbers from one request to the next.

/** @import { Decision, HeaderStyle } from './index.js' */

const { headers } = require('./headers.js');

/** Styles in which the numbers are what remains, and the seconds until the reset. */
const STYLES = new Set(['ietf', 'ietf-draft-8']);

/** How many rules are kept. */
const KEPT = 1000;

/** The largest number that a structured field can hold. */
const MOST = 999_999_999_999_999;

/** Numbers that no limit has, to see where they stand. */
const REMAINING = 987_654_321_012_345;
const RESET = 123_456_789;

/** By the style, then by the name of the rule. */
const KNOWN = new Map([...STYLES].map((style) => [style, new Map()]));

/**
 * The headers of a decision, as `headers` answers them. Rust writes them once for each rule; later ones have their numbers in place
 * of the first one's, as a call of Rust with all of a decision takes longer than the decision.
 *
 * @param {Decision} decision
 * @param {HeaderStyle} style
 * @returns {Record<string, string>}
 */
function headersByTemplate(decision, style) {
  const known = isPlain(decision) ? KNOWN.get(style) : undefined;
  if (known === undefined) return headers(decision, style);
  const template = templateOf(decision, style, known);
  const reset = Math.ceil(decision.resetAfterMs / 1000);
  return {
    'RateLimit-Policy': template.policy,
    RateLimit: `${template.before}${decision.remaining}${template.between}${reset}`,
  };
}

/** Whether one rule admitted, whose numbers are in order. */
function isPlain({ allowed, ruleApplied, shadow, retryAfterMs, remaining, resetAfterMs, parts }) {
  return allowed && ruleApplied && !shadow && retryAfterMs === 0 && parts.length === 0 && remaining <= MOST && resetAfterMs <= MOST;
}

function templateOf(decision, style, known) {
  const { rule, limit, windowMs } = decision;
  const found = known.get(rule);
  if (found !== undefined && found.limit === limit && found.windowMs === windowMs) return found;
  const { 'RateLimit-Policy': policy, RateLimit: line } = headers({ ...decision, remaining: REMAINING, resetAfterMs: RESET * 1000 }, style);
  // From the end, as the name of a rule may have digits, too.
  const [remainsAt, resetAt] = [REMAINING, RESET].map((number) => line.lastIndexOf(String(number)));
  const template = {
    limit,
    windowMs,
    policy,
    before: line.slice(0, remainsAt),
    between: line.slice(remainsAt + String(REMAINING).length, resetAt),
  };
  if (known.size >= KEPT) known.clear();
  known.set(rule, template);
  return template;
}

module.exports = { headersByTemplate };
