'use strict';

// The rules by which a route is limited: some are stated there, others are in the file.

/** @import { RateLimiter } from '../index.js' */
/** @import { RouteRequest } from './deciding.js' */

const { wrongType } = require('../arguments.js');
const { errorOf, invalidArgument } = require('../error.js');
const native = require('../native.js');
const { isName, ruleName } = require('./naming.js');

/** Begins as a rate does, and no name of a rule that anybody would give: 5/minute. */
const RATE = /^\s*\d[\d_ ]*\//;

/** A rule as limiters list it. Throws `InvalidRule` where it is not valid. */
function normal(rule) {
  const rules = native.normalRules(JSON.stringify([rule]));
  if (typeof rules !== 'string') throw errorOf(rules);
  return JSON.parse(rules)[0];
}

/** Adds a rule to a limiter, unless it has the same already, and answers it in its normal form. */
function added(limiter, stated) {
  const rule = normal(stated);
  try {
    limiter.addRules([rule]);
  } catch (error) {
    // Another function may have stated the same.
    const known = limiter.rules().find(({ rule_id: name }) => name === rule.rule_id);
    if (JSON.stringify(known) !== JSON.stringify(rule)) throw error;
  }
  return rule;
}

function isNamed(stated) {
  return typeof stated === 'string' && !RATE.test(stated);
}

/** The rules of a limiter by their names, listed anew when they change. */
class ListedRules {
  #listed = { limiter: undefined, version: '', rules: new Map() };

  /** Throws `UnknownRule` where there is none of that name. */
  find(limiter, name) {
    // To list the rules takes long, and to ask for their version does not.
    const { version } = limiter.rulesStatus();
    if (this.#listed.limiter !== limiter || this.#listed.version !== version) {
      this.#listed = { limiter, version, rules: new Map(limiter.rules().map((rule) => [rule.rule_id, rule])) };
    }
    const rule = this.#listed.rules.get(name);
    if (rule !== undefined) return rule;
    throw unknown(name);
  }
}

function unknown(name) {
  const message = `no rule is called "${name}" (a limit is a rate such as "5/minute", or the name of a rule)`;
  return errorOf({ code: 'UnknownRule', message, retryable: false });
}

/** The rules of a request, and what follows from them. */
class Choice {
  constructor(rules) {
    this.rules = rules;
    /** Whether a rule says who is counted. */
    this.isIdentified = rules.some((rule) => rule.identifier_type !== undefined);
    this.isSingle = rules.length === 1 && !hasReservations(rules[0]);
  }
}

/** What a route states: rates, rules as data, and names of rules. */
class RouteRules {
  #stated;
  #shared;
  #perMethod;
  #count;
  /** By limiter, and by the template of the route: one function may serve several. */
  #made = new WeakMap();
  #listed = new ListedRules();

  constructor(limits, { shared, perMethod, count }) {
    this.#stated = Array.isArray(limits) ? limits : [limits];
    this.#shared = shared;
    this.#perMethod = perMethod;
    this.#count = count === 'all' ? [] : [typeof count === 'function' ? 'outcome' : count];
    if (limits === undefined || this.#stated.length === 0) {
      throw invalidArgument('a route needs a limit, such as "5/minute", or the name of a rule');
    }
    for (const each of this.#stated) {
      if (typeof each !== 'string' && (typeof each !== 'object' || each === null)) {
        throw wrongType('limits', 'a rate, the name of a rule, a rule, or an array of them', each);
      }
      // What is not valid is known now rather than with the first request.
      if (!isNamed(each)) normal(this.#rule(each, 'routes', '/'));
      else if (!isName(each)) throw unknown(each);
    }
  }

  /** Refuses names of rules that the limiter does not have. */
  ensureKnown(limiter) {
    for (const each of this.#stated) if (isNamed(each)) this.#found(limiter, each);
  }

  /**
   * The rules for a request, in their normal form. Those that are stated here are added to the limiter first.
   *
   * @param {RateLimiter} limiter
   * @param {string} name
   * @param {Pick<RouteRequest, 'method' | 'template'>} request
   */
  of(limiter, name, request) {
    const { rules, choice } = this.#madeIn(limiter, name, this.#templateOf(request));
    return choice ?? new Choice(rules.map((rule, at) => rule ?? this.#found(limiter, this.#stated[at])));
  }

  #templateOf(request) {
    if (this.#shared !== undefined) return this.#shared;
    return this.#perMethod ? `${request.method === 'HEAD' ? 'GET' : request.method} ${request.template}` : request.template;
  }

  #madeIn(limiter, name, template) {
    let places = this.#made.get(limiter);
    if (places === undefined) this.#made.set(limiter, (places = { last: undefined, known: new Map() }));
    // Mostly a function serves one route.
    const { last, known } = places;
    if (last !== undefined && last.name === name && last.template === template) return last;
    const place = `${name} ${template}`;
    let made = known.get(place);
    if (made === undefined) {
      const rules = this.#stated.map((each) => (isNamed(each) ? undefined : added(limiter, this.#rule(each, name, template))));
      // Those of the file may change.
      known.set(place, (made = { name, template, rules, choice: rules.includes(undefined) ? undefined : new Choice(rules) }));
    }
    places.last = made;
    return made;
  }

  #rule(stated, name, template) {
    const words = [name, template, ...this.#count];
    const reserved = this.#count.length > 0 ? { reservations: true } : {};
    if (typeof stated === 'object') return { rule_id: ruleName([...words, String(stated.rate ?? '')]), ...stated, ...reserved };
    const rate = stated.replace(/\s/g, '');
    return { rule_id: ruleName([...words, rate]), rate, ...reserved };
  }

  #found(limiter, name) {
    return this.#listed.find(limiter, name);
  }
}

/** Calls the limiter: for these checks, each by the rule at its place. */
function called(limiter, rules, checks) {
  if (rules.some(hasReservations)) return limiter.reserveAll(checks);
  if (checks.length > 1) return limiter.checkAll(checks);
  const [{ rule, key, cost, limit, resource }] = checks;
  const isPlain = cost === undefined && limit === undefined && resource === undefined;
  return isPlain ? limiter.check(rule, key) : limiter.check(rule, key, { cost, limit, resource });
}

function hasReservations({ reservations, algorithm }) {
  return reservations === true || algorithm === 'concurrency';
}

module.exports = { ListedRules, RouteRules, added, called, hasReservations };
