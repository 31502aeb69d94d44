'use strict';

// The decision at a route, in every framework.

/** @import { Decision, RateLimiter, Reservation } from '../index.js' */

const { boolean, optional, options, text, wrongType } = require('../arguments.js');
const { invalidArgument } = require('../error.js');
const { contentTypeOf } = require('../grpc.js');
const { checkSoonest } = require('../limiter.js');
const { POLICY, decided, invalid, policyOf, undecided } = require('../policy.js');
const { HOOKS, HookError, ask, hooksOf, isKept, numberOf } = require('./hooks.js');
const { Keys, NoAddress, NoHeader, addressKey } = require('./keys.js');
const { RouteRules, called } = require('./rules.js');

const SHARED = new Set([...HOOKS, ...POLICY, 'name', 'enabled']);
const ROUTE = new Set([...HOOKS, 'shared', 'perMethod']);

/**
 * A request at a route, as every framework tells of it.
 *
 * @typedef {object} RouteRequest
 * @property {readonly unknown[]} args What functions of the application are called with.
 * @property {string} where What messages call the route.
 * @property {string} method
 * @property {string} template The template of the route, such as `/items/:id`; never the raw path.
 * @property {string | undefined} peer The address that the connection comes from.
 * @property {(name: string) => string | undefined} lines All lines of a header, by its name in small letters, joined.
 * @property {(name: string) => string | undefined} header A header by its name in small letters.
 * @property {Readonly<Record<string, unknown>>} params What the path has in place of parameters.
 * @property {{ log: Function, warn: Function } | undefined} [report] What the limiter could not do, where the framework has a log.
 */

/**
 * What is decided about a request. One that goes no further has `status` and `body`.
 *
 * @typedef {object} Ruling
 * @property {Record<string, string>} headers
 * @property {number} [status]
 * @property {string} [body]
 * @property {Decision} [decision]
 * @property {Reservation} [held] What is charged or given back when the answer is known.
 */

/** What the routes of one `routeLimits` share. */
function sharedOf(limiter, given) {
  if (typeof limiter?.then === 'function') {
    // Each request throws the error; without a request nobody has to handle it.
    limiter.then(undefined, () => undefined);
    return sharedOf(() => limiter, given);
  }
  if (typeof limiter !== 'function') ensureLimiter(limiter);
  const wanted = options('options', given, SHARED);
  const { name, enabled = true } = wanted;
  if (optional(text, 'name', name) === '') throw invalidArgument('name is empty');
  if (!boolean('enabled', enabled)) process.emitWarning('limits of routes are off (enabled: false)');
  hooksOf(wanted);
  return { limiter, policy: policyOf(wanted), given: wanted, name: name ?? 'routes', enabled };
}

function ensureLimiter(limiter) {
  if (typeof limiter?.checkAll === 'function') return limiter;
  throw wrongType('limiter', 'a RateLimiter, or a function that returns one', limiter);
}

/** The limits of a route. */
class Route {
  #shared;
  #rules;
  /** Whether a request is decided by its address and the rules alone. */
  #isPlain;

  constructor(shared, limits, given) {
    this.#shared = shared;
    const wanted = options('options', given, ROUTE);
    const { shared: together, perMethod = false } = wanted;
    this.hooks = hooksOf({ ...shared.given, ...wanted });
    if (optional(text, 'shared', together) === '') throw invalidArgument('shared is empty');
    boolean('perMethod', perMethod);
    this.#isPlain = ['key', 'userId', 'cost', 'limit', 'onDecision'].every((hook) => this.hooks[hook] === undefined);
    this.#rules = new RouteRules(limits, { shared: together, perMethod, count: this.hooks.count });
    if (typeof shared.limiter !== 'function') this.#rules.ensureKnown(shared.limiter);
  }

  get policy() {
    return this.#shared.policy;
  }

  /**
   * Decides a request: at once where nothing has to be waited for.
   *
   * @param {RouteRequest} request
   * @returns {Ruling | Promise<Ruling>}
   */
  decide(request) {
    const { enabled, limiter } = this.#shared;
    if (!enabled) return { headers: {} };
    return this.hooks.skip || typeof limiter === 'function' ? this.#decideLater(request) : this.#decideBy(limiter, request);
  }

  async #decideLater(request) {
    if (this.hooks.skip && (await this.ask('skip', request))) return { headers: {} };
    const { limiter } = this.#shared;
    return this.#decideBy(typeof limiter === 'function' ? ensureLimiter(await limiter(...request.args)) : limiter, request);
  }

  #decideBy(limiter, request) {
    const { rules, isSingle, isIdentified } = this.#rules.of(limiter, this.#shared.name, request);
    const [rule] = rules;
    const key = this.#isPlain && isSingle && !isIdentified ? addressKey(request, this.policy, rule) : undefined;
    return key === undefined ? this.#decideByAll(limiter, rules, request) : this.#decideByKey(limiter, rule, key, request);
  }

  /** Decides a request by one rule, and of which no function of the application is asked. */
  #decideByKey(limiter, rule, key, request) {
    let answer;
    try {
      answer = checkSoonest(limiter, rule.rule_id, key);
    } catch (error) {
      return this.#undecided(error, request);
    }
    return 'then' in answer ? this.#answered(() => answer, request) : this.#ruled(answer, request);
  }

  async #decideByAll(limiter, rules, request) {
    let checks;
    try {
      checks = await this.#checks(rules, request);
    } catch (error) {
      if (error instanceof NoHeader) return invalid(error.message, typeOf(request));
      if (!(error instanceof NoAddress)) throw error;
      return this.hooks.noAddress === 'skip' ? { headers: {} } : invalid('the address of the client is not known', typeOf(request));
    }
    return this.#answered(() => called(limiter, rules, checks), request);
  }

  async #answered(call, request) {
    let decision;
    try {
      decision = await call();
    } catch (error) {
      return this.#undecided(error, request);
    }
    if (this.hooks.onDecision) await this.#tell(decision, request);
    return this.#ruled(decision, request);
  }

  #undecided(error, request) {
    // What a client chooses is looked at before: this is what the route states.
    if (error?.code === 'InvalidArgument') throw new HookError(`${request.where}: ${error.message}`);
    return undecided(error, this.policy, (request.report ?? this.policy).log, typeOf(request));
  }

  #ruled(decision, request) {
    // An answer of the application's own is sent as it is, whatever the client speaks.
    const ruling = decided(decision, this.policy, this.hooks.onDenied ? undefined : typeOf(request));
    ruling.decision = decision;
    ruling.held = decision.allowed && decision.id !== undefined ? decision : undefined;
    return ruling;
  }

  /** What a function of the application says of a request. */
  ask(name, { where, args }, ...more) {
    return ask(where, name, this.hooks[name], ...args, ...more);
  }

  /** Whether what was reserved is charged, by the answer. */
  isKept(response, status) {
    return isKept(this.hooks, response, status);
  }

  async #checks(rules, request) {
    const { where, args } = request;
    const cost = await numberOf(where, 'cost', this.hooks.cost, ...args);
    const limit = await numberOf(where, 'limit', this.hooks.limit, ...args);
    const keys = new Keys(this.hooks, this.policy, request);
    const checks = [];
    for (const rule of rules) checks.push({ rule: rule.rule_id, key: await keys.of(rule), cost, limit });
    return checks;
  }

  async #tell(decision, request) {
    try {
      await this.ask('onDecision', request, decision);
    } catch (error) {
      // It only looks.
      this.policy.warn(error);
    }
  }
}

function typeOf(request) {
  return contentTypeOf(request.method, request.lines('content-type'));
}

module.exports = { HookError, Route, sharedOf };
