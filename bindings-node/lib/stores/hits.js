'use strict';

// What stores of other packages have in common: they count hits, also those that are denied, and the package decides.

/** @import { RateLimiter } from '../index.js' */

const { text, wrongType } = require('../arguments.js');
const { invalidArgument } = require('../error.js');
const { ruleName } = require('../routes/naming.js');
const { added } = require('../routes/rules.js');

/** More hits than any client makes in a window: the limiter denies none. */
const MOST = 2 ** 40;

/** Refuses what is no limiter, and a name that is empty. */
function ensureStore(limiter, name) {
  if (typeof limiter?.addRules !== 'function') throw wrongType('limiter', 'a RateLimiter', limiter);
  if (text('name', name) === '') throw invalidArgument('name is empty');
}

/**
 * Rules of windows that begin with the first hit, one for each length, which are made when they are needed.
 *
 * @param {RateLimiter} limiter
 * @param {object} [fields] What the rules have besides.
 */
function windowsOf(limiter, name, fields = {}) {
  const known = new Map();
  return (windowMs) => {
    let rule = known.get(windowMs);
    if (rule === undefined) {
      rule = ruleName([name, `${windowMs}ms`]);
      const window = { algorithm: 'fixed_window', window_start: 'first_request', window_size_seconds: windowMs / 1000 };
      added(limiter, { rule_id: rule, limit: MOST, ...window, ...fields });
      known.set(windowMs, rule);
    }
    return rule;
  };
}

/** How many hits there were, and in how many milliseconds they are forgotten. */
function hitsOf({ remaining, resetAfterMs }) {
  return { hits: MOST - remaining, resetAfterMs };
}

module.exports = { ensureStore, hitsOf, windowsOf };
