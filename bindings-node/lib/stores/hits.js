'use strict';

// What stores of other packages have in common: they count hits, also those that are denied, and the package decides.

/** @import { RateLimiter } from '../index.js' */

const { options, text, wrongType } = require('../arguments.js');
const { invalidArgument } = require('../error.js');
const { ruleName } = require('../routes/naming.js');
const { added } = require('../routes/rules.js');

/** More hits than any client makes in a window: the limiter denies none. */
const MOST = 2 ** 40;
const OPTIONS = new Set(['name']);

/** The name among the options of a store, or its default. Refuses what is no limiter, other options, and a name that is empty. */
function storeName(limiter, given, byDefault) {
  if (typeof limiter?.addRules !== 'function') throw wrongType('limiter', 'a RateLimiter', limiter);
  const { name = byDefault } = options('options', given, OPTIONS);
  if (text('name', name) === '') throw invalidArgument('name is empty');
  return name;
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

module.exports = { hitsOf, storeName, windowsOf };
