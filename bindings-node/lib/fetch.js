'use strict';

// Calls of somebody else's API: paced by a limit, and stopped for as long as its answers say.

/** @import { Decision, RateLimiter } from './index.js' */
/** @import { Later, Named, Stated } from './types.js' */

const { number, optional, options, wrongType } = require('./arguments.js');
const { SluicegateError, invalidArgument } = require('./error.js');
const { RateLimited, rateLimited } = require('./denial.js');
const { ask, keyNamed, numberOf } = require('./routes/hooks.js');
const { ruleName } = require('./routes/naming.js');
const { RouteRules } = require('./routes/rules.js');

/**
 * Options of `limitedFetch`.
 *
 * @typedef {object} LimitedFetchOptions
 * @property {string | ((request: Request) => Later<Named>) | undefined} [key] Who is counted. Default: the host of the request.
 * @property {number | ((request: Request) => Later<number>) | undefined} [cost] Default: 1.
 * @property {number | undefined} [waitMs] The longest wait for room, in milliseconds. Default: 60,000.
 * @property {number | undefined} [maxBlockMs] The longest time for which an answer can stop calls, in milliseconds. Default: an hour.
 * @property {string | undefined} [name] Begins the names of rules that are stated here. Default: `outgoing`.
 * @property {typeof fetch | undefined} [fetch] What sends requests. Default: the global one.
 */

const OPTIONS = new Set(['key', 'cost', 'waitMs', 'maxBlockMs', 'name', 'fetch']);

/** What messages call it. */
const WHERE = 'outgoing call';

/** Too many requests; and unavailable, of which some providers make the same use. */
const REFUSALS = [429, 503];

/**
 * Makes a function like `fetch` that waits until its limit admits a call, together with all processes on the same server. An answer
 * with the status 429 or 503 and `Retry-After` blocks its key in all of them for that long; the answer itself is returned as it is.
 * Throws `RateLimited` where there would be no room within `waitMs`.
 *
 * @param {RateLimiter} limiter
 * @param {Stated} limits A rate, a rule, the name of a rule that has `block`, or an array of them; the first is the one that is blocked.
 * @param {LimitedFetchOptions} [given]
 * @returns {typeof fetch}
 */
function limitedFetch(limiter, limits, given) {
  if (typeof limiter?.waitAll !== 'function') throw wrongType('limiter', 'a RateLimiter', limiter);
  const { key, cost, waitMs = 60_000, maxBlockMs = 3_600_000, name = 'outgoing', fetch: send } = options('options', given, OPTIONS);
  for (const [option, value] of Object.entries({ waitMs, maxBlockMs })) {
    if (!(number(option, value) >= 0)) throw invalidArgument(`${option} must be 0 or more`);
  }
  if (typeof cost !== 'function') optional(number, 'cost', cost);
  for (const [option, value] of Object.entries({ key: typeof key === 'string' ? undefined : key, fetch: send })) {
    if (value !== undefined && typeof value !== 'function') throw wrongType(option, 'a function', value);
  }
  const rules = new RouteRules(blockable(limits, name), { shared: undefined, perMethod: false, count: 'all' });
  const found = () => rules.of(limiter, name, { method: '', template: 'outgoing' }).rules;
  // Names that there are not, and rules that cannot be blocked, are refused now.
  if (found()[0].block === undefined) throw invalidArgument('Retry-After needs a rule with `block` (add "block": {} to the rule)');

  return async (input, init) => {
    const request = new Request(input, init);
    const who = typeof key === 'function' ? keyNamed(WHERE, 'key', await ask(WHERE, 'key', key, request)) : (key ?? new URL(request.url).host);
    const weight = await numberOf(WHERE, 'cost', cost, request);
    const stated = found();
    const checks = stated.map(({ rule_id: rule }) => ({ rule, key: who, cost: weight }));
    const decision = await limiter.waitAll(checks, { timeoutMs: waitMs, signal: request.signal });
    if (!decision.allowed) throw refused(decision);
    const response = await (send ?? fetch)(request);
    await obey(limiter, stated[0].rule_id, who, Math.min(retryAfterMs(response), maxBlockMs));
    return response;
  };
}

/** A rate that is stated here can be blocked. */
function blockable(limits, name) {
  const [first, ...more] = Array.isArray(limits) ? limits : [limits];
  if (typeof first === 'string' && /^\s*\d[\d_ ]*\//.test(first)) {
    const rate = first.replace(/\s/g, '');
    return [{ rule_id: ruleName([name, rate]), rate, block: {} }, ...more];
  }
  if (typeof first === 'object' && first !== null) return [{ block: {}, ...first }, ...more];
  return first === undefined ? [] : [first, ...more];
}

/** Blocks a key in every process, unless it is blocked for longer already. */
async function obey(limiter, rule, key, ms) {
  if (!(ms > 0)) return;
  try {
    const { blocked, retryAfterMs: left } = await limiter.peek(rule, key);
    if (!blocked || left < ms) await limiter.block(rule, key, ms);
  } catch (error) {
    // The answer is there, and the application is to have it.
    if (!(error instanceof SluicegateError)) throw error;
    process.emitWarning(`the Retry-After of a provider is not obeyed: ${error.message}`);
  }
}

/** In how many milliseconds a provider wants to be asked again; 0 where it does not say. It says seconds, or a date. */
function retryAfterMs({ status, headers }) {
  const said = REFUSALS.includes(status) ? headers.get('retry-after') : null;
  if (said === null) return 0;
  const ms = /^\s*\d+\s*$/.test(said) ? Number(said) * 1000 : Date.parse(said) - Date.now();
  return Number.isNaN(ms) ? 0 : ms;
}

function refused(decision) {
  const wait = Math.ceil(decision.retryAfterMs / 1000);
  return rateLimited({ body: JSON.stringify({ detail: `the call is not sent: there is no room for it for ${wait} s` }), decision });
}

module.exports = { RateLimited, limitedFetch };
