'use strict';

// The decision of middleware: by the rules that match a request, or by those of them that the application chooses.

const { wrongType } = require('../arguments.js');
const { errorOf, invalidArgument } = require('../error.js');
const { HookError, MATCHING_HOOKS, ask, hooksOf, numberOf } = require('./hooks.js');
const { Keys } = require('./keys.js');
const { ListedRules, called, hasReservations } = require('./rules.js');

/** What messages call it. */
const WHERE = 'middleware';

class Matching {
  #limiter;
  #policy;
  #rules;
  #listed = new ListedRules();

  constructor(limiter, policy, given) {
    this.#limiter = limiter;
    this.#policy = policy;
    this.#rules = given.rules;
    this.hooks = hooksOf(Object.fromEntries(MATCHING_HOOKS.map((name) => [name, given[name]])));
    if (this.hooks.count !== 'all' && !limiter.rules().some(hasReservations)) {
      const message = 'count by the outcome needs rules with reservations (add "reservations": true to a rule)';
      throw errorOf({ code: 'InvalidRule', message, retryable: false });
    }
    if (this.#rules === undefined || typeof this.#rules === 'function') return;
    if (!isNames(this.#rules)) throw wrongType('rules', 'an array of names, or a function', this.#rules);
    if (this.#rules.length === 0) {
      throw invalidArgument('rules is empty: leave it out for all rules that match (`skip` exempts requests)');
    }
    // A name that there is not is refused now.
    for (const name of this.#rules) this.#find(name);
  }

  ask(name, request, ...more) {
    return ask(WHERE, name, this.hooks[name], request, ...more);
  }

  /**
   * Decides a request; `undefined` where no rule is to be applied.
   *
   * @param {any} asked The request, as `reserveRequest` takes it.
   * @param {unknown} request As the framework has it.
   */
  async decide(asked, request) {
    // Where the application chooses nothing, the limiter matches and decides in one call.
    if (!this.#chooses) return this.#limiter.reserveRequest(asked);
    const cost = await numberOf(WHERE, 'cost', this.hooks.cost, request);
    const limit = await numberOf(WHERE, 'limit', this.hooks.limit, request);
    const names = await this.#namesOf(request);
    const rules = [];
    const checks = [];
    const add = (rule, key, resource) => {
      rules.push(rule);
      checks.push({ rule: rule.rule_id, key, resource, cost: cost ?? rule.cost, limit });
    };
    for (const { ruleId, key, resource } of this.#limiter.matchRequest(asked)) {
      if (names === undefined || names.includes(ruleId)) add(this.#find(ruleId), key, resource);
    }
    const hooks = { ...this.hooks, userId: () => asked.userId };
    const keys = new Keys(hooks, this.#policy, { where: WHERE, args: [request], ...partsOf(asked) });
    for (const name of names ?? []) {
      const rule = this.#find(name);
      if (rule.match === undefined) add(rule, await keys.of(rule));
    }
    return checks.length === 0 ? undefined : this.#called(rules, checks);
  }

  get #chooses() {
    const { cost, limit } = this.hooks;
    return this.#rules !== undefined || cost !== undefined || limit !== undefined;
  }

  async #called(rules, checks) {
    try {
      return await called(this.#limiter, rules, checks);
    } catch (error) {
      // What a client chooses is looked at before: this is what the application states.
      throw error?.code === 'InvalidArgument' ? new HookError(`${WHERE}: ${error.message}`) : error;
    }
  }

  #find(name) {
    return this.#listed.find(this.#limiter, name);
  }

  async #namesOf(request) {
    if (typeof this.#rules !== 'function') return this.#rules;
    const names = await ask(WHERE, 'rules', this.#rules, request);
    if (names === undefined || names === null) return undefined;
    if (Array.isArray(names) && names.length === 0) {
      const advice = 'return `undefined` for all rules that match; `skip` exempts requests';
      throw new HookError(`${WHERE}: rules returned an empty array (${advice})`);
    }
    if (!isNames(names)) throw new HookError(`${WHERE}: rules returned what is no array of names (return \`undefined\` for all rules)`);
    return names;
  }
}

function isNames(value) {
  return Array.isArray(value) && value.every((name) => typeof name === 'string');
}

/** What keys are made of. */
function partsOf({ ip, headers }) {
  return {
    peer: ip,
    lines: () => undefined,
    params: {},
    header: (name) => headers.find(([other]) => other.toLowerCase() === name)?.[1],
  };
}

module.exports = { Matching, WHERE };
