'use strict';

// The names of rules that are stated at a route.

const { createHash } = require('node:crypto');

/** What a rule_id may not have. */
const FOREIGN = /[^A-Za-z0-9_.:/-]/g;
const LONGEST = 128;
const HASH = 8;

/**
 * Parts with colons between them. Where that cannot be a rule_id it is altered, and a hash at its end keeps it unique.
 *
 * @param {readonly string[]} parts
 */
function ruleName(parts) {
  const whole = parts.join(':');
  const plain = whole.replace(FOREIGN, '_');
  if (plain === whole && whole.length <= LONGEST) return whole;
  const hash = createHash('sha256').update(whole).digest('hex').slice(0, HASH);
  return `${plain.slice(0, LONGEST - HASH - 1)}-${hash}`;
}

/** Whether a rule may have this name. */
function isName(text) {
  return text !== '' && text.length <= LONGEST && text.search(FOREIGN) < 0;
}

module.exports = { isName, ruleName };
