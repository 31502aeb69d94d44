'use strict';

/**
 * @import {
 *   ChangeOptions, Check, CheckAllOptions, CheckOptions, ConnectOptions, Decision, Explanation, HttpRequest, Key, Metrics,
 *   PeekOptions, PingOptions, RequestMatch, ReserveAllOptions, ReserveOptions, ResetOptions, Rule, RulesStatus, SetLimitOptions, Usage,
 *   WaitAllOptions, WaitOptions,
 * } from './index.js'
 * @import { Reservation } from './reservation.js'
 */

const { KNOWN, callOptions, number } = require('./arguments.js');
const { Caller } = require('./caller.js');
const { endingCall } = require('./ending.js');
const { Call, OP } = require('./mailbox.js');
const { matchesOf, requestCall } = require('./request.js');
const { keepRenewed } = require('./renewing.js');
const { makeReservation } = require('./reservation.js');
const { rulesJson } = require('./options.js');
const { blockCall, setLimitCall } = require('./key_record.js');
const { reserve, reserveAll, wait, waitAll } = require('./waiting.js');

/**
 * Checks a key by a limiter as its `check` does, but what is decided at once is answered without a promise, and thrown. Not for users.
 *
 * @type {(limiter: RateLimiter, rule: string, key: Key) => Decision | Promise<Decision>}
 */
let checkSoonest;

/**
 * Decides whether a cost is admitted.
 *
 * Whatever is wrong rejects the promise: a `SluicegateError`, for an argument of the wrong type a
 * `WrongTypeError`, which is one. `matchRequest` and `rulesStatus`, which only look, answer at once, and throw. While a call is
 * pending the process stays alive; a limiter at rest does not keep it.
 *
 * @implements {AsyncDisposable}
 */
class RateLimiter {
  static {
    const { check } = this.prototype;
    // One that an application has put a function of its own around is called by that.
    checkSoonest = (limiter, rule, key) =>
      #caller in limiter && limiter.check === check ? limiter.#caller.checkSoonest(rule, key) : limiter.check(rule, key);
  }

  #caller;

  /** @private */
  constructor(caller) {
    // Only `connect` has one.
    if (!(caller instanceof Caller)) throw new TypeError('use RateLimiter.connect(url, options)');
    this.#caller = caller;
  }

  /**
   * Connects a limiter to the backend that `url` names: `memory://`, `redis://`, `rediss://`, `unix://`,
   * `redis-cluster://h1:p1,h2:p2` or `redis-sentinel://h1:p1,h2:p2/service`.
   *
   * @param {string} url
   * @param {ConnectOptions} options
   * @returns {Promise<RateLimiter>}
   */
  static async connect(url, options) {
    return new this(await Caller.open(url, options));
  }

  /**
   * Admits a cost for `key` under `rule`, or denies it.
   *
   * @param {string} rule
   * @param {Key} key
   * @param {CheckOptions} [options]
   * @returns {Promise<Decision>}
   */
  check(rule, key, options) {
    return this.#caller.about(OP.CHECK, rule, key, options, KNOWN.check);
  }

  /**
   * What `check` would answer now; changes nothing.
   *
   * @param {string} rule
   * @param {Key} key
   * @param {PeekOptions} [options]
   * @returns {Promise<Decision>}
   */
  peek(rule, key, options) {
    return this.#caller.about(OP.PEEK, rule, key, options, KNOWN.peek);
  }

  /**
   * Gives back a cost that turned out not to be used, the newest first, and answers as `peek` would then.
   *
   * @param {string} rule
   * @param {Key} key
   * @param {CheckOptions} [options]
   * @returns {Promise<Decision>}
   */
  refund(rule, key, options) {
    return this.#caller.about(OP.REFUND, rule, key, options, KNOWN.check);
  }

  /**
   * Counts a cost that was used already, also beyond the limit, and answers as `peek` of 1 would then: a key that is
   * overdrawn is denied until that has passed.
   *
   * @param {string} rule
   * @param {Key} key
   * @param {CheckOptions} [options]
   * @returns {Promise<Decision>}
   */
  charge(rule, key, options) {
    return this.#caller.about(OP.CHARGE, rule, key, options, KNOWN.check);
  }

  /**
   * Forgets what was counted for `key` under `rule`, and nothing else. What a resource was used in all is
   * kept, since other keys have a part in it; a rule that counts nothing else forgets that.
   *
   * @param {string} rule
   * @param {Key} key
   * @param {ResetOptions} [options]
   * @returns {Promise<void>}
   */
  async reset(rule, key, options) {
    return this.#caller.make(this.#caller.ruleCall(OP.RESET, rule, key, options, KNOWN.reset));
  }

  /**
   * Blocks `key` under `rule` for a time from now: every check of it is denied and counts nothing. Takes the place of a
   * block that it has already.
   *
   * @param {string} rule
   * @param {Key} key
   * @param {number} durationMs
   * @param {ChangeOptions} [options]
   * @returns {Promise<void>}
   */
  async block(rule, key, durationMs, options) {
    return this.#caller.make(blockCall(this.#caller, rule, key, durationMs, options));
  }

  /**
   * Ends the block of `key` under `rule`. Answers whether there was one.
   *
   * @param {string} rule
   * @param {Key} key
   * @param {ChangeOptions} [options]
   * @returns {Promise<boolean>}
   */
  async unblock(rule, key, options) {
    return this.#caller.makeLong(this.#caller.ruleCall(OP.UNBLOCK, rule, key, options, KNOWN.change));
  }

  /**
   * Stores a limit for `key` under `rule`, which every process uses from its next check on: for `expiresInMs`, or until
   * it is cleared. The `limit` of a call still comes first.
   *
   * @param {string} rule
   * @param {Key} key
   * @param {number} limit
   * @param {SetLimitOptions} [options]
   * @returns {Promise<void>}
   */
  async setLimit(rule, key, limit, options) {
    return this.#caller.make(setLimitCall(this.#caller, rule, key, limit, options));
  }

  /**
   * Forgets the limit that is stored for `key` under `rule`. Answers whether there was one.
   *
   * @param {string} rule
   * @param {Key} key
   * @param {ChangeOptions} [options]
   * @returns {Promise<boolean>}
   */
  async clearLimit(rule, key, options) {
    return this.#caller.makeLong(this.#caller.ruleCall(OP.CLEAR_LIMIT, rule, key, options, KNOWN.change));
  }

  /**
   * Decides several checks together: all of them are charged, or none is. The decision is that of the
   * deciding check, and its `parts` hold one per item.
   *
   * On a Redis Cluster, items in different hash slots are charged slot by slot in order of rule priority,
   * and a denial refunds those before it: in between a third caller may be denied needlessly, and never
   * admitted wrongly.
   *
   * @param {readonly Check[]} items
   * @param {CheckAllOptions} [given]
   * @returns {Promise<Decision>}
   */
  async checkAll(items, given) {
    return this.#caller.make(this.#caller.severalCall(OP.ALL, items, callOptions(given, KNOWN.checkAll)));
  }

  /**
   * Reserves a cost for `key` under `rule`, or denies it: room is held, and nothing is charged until it is committed.
   * With `waitMs` it waits for room, in the order of arrival. What is reserved for a call that was given up is released.
   * With `renewed` the lease is renewed in the background until the reservation is ended, or forgotten.
   *
   * @param {string} rule
   * @param {Key} key
   * @param {ReserveOptions} [options]
   * @returns {Promise<Reservation>}
   */
  async reserve(rule, key, options) {
    return this.#reserved(await reserve(this.#caller, rule, key, options), options);
  }

  /**
   * Reserves several costs together: all of them, or none. Items whose rule has no reservations are charged at once.
   *
   * @param {readonly Check[]} items
   * @param {ReserveAllOptions} [options]
   * @returns {Promise<Reservation>}
   */
  async reserveAll(items, options) {
    return this.#reserved(await reserveAll(this.#caller, items, options), options);
  }

  /** @param {ReserveAllOptions} [options] */
  #reserved(answer, options) {
    const reservation = makeReservation(this, answer);
    if (options?.renewed) keepRenewed(reservation);
    return reservation;
  }

  /**
   * Decides a request as `checkRequest` does, but reserves under the rules that have reservations; the others are charged
   * at once. Where there are none, nothing is held, and `id` is `undefined`.
   *
   * @param {HttpRequest} request
   * @returns {Promise<Reservation>}
   */
  async reserveRequest(request) {
    return makeReservation(this, await this.#caller.makeLong(requestCall(request, OP.RESERVE_REQUEST)));
  }

  /**
   * Ends a reservation, given by itself or its id, and charges what was really used, also beyond the limit: as much as
   * was reserved, unless `cost` says otherwise. Answers whether it took effect: not where the reservation had ended,
   * expired or been denied.
   *
   * @param {string | Reservation} reservation
   * @param {Usage} [cost]
   * @returns {Promise<boolean>}
   */
  async commit(reservation, cost) {
    return this.#caller.makeLong(endingCall(OP.COMMIT, reservation, cost));
  }

  /**
   * Ends a reservation, given by itself or its id, of which nothing was used. Answers whether it took effect.
   *
   * @param {string | Reservation} reservation
   * @returns {Promise<boolean>}
   */
  async release(reservation) {
    return this.#caller.makeLong(endingCall(OP.RELEASE, reservation, undefined));
  }

  /**
   * Renews the lease of a reservation, given by itself or its id. Answers whether it took effect.
   *
   * @param {string | Reservation} reservation
   * @returns {Promise<boolean>}
   */
  async renew(reservation) {
    return this.#caller.makeLong(endingCall(OP.RENEW, reservation, undefined));
  }

  /**
   * Decides a request by all the rules that match it, together, as `checkAll` does: `parts` holds one decision per
   * rule, in order of priority. A request that no rule matches is admitted, and `ruleApplied` says so.
   *
   * @param {HttpRequest} request
   * @returns {Promise<Decision>}
   */
  async checkRequest(request) {
    return this.#caller.makeLong(requestCall(request));
  }

  /**
   * The rules that `checkRequest` would apply, in order of priority. Nothing is counted.
   *
   * @overload
   * @param {HttpRequest} request
   * @param {{ explain?: false | undefined }} [options]
   * @returns {RequestMatch[]}
   */
  /**
   * All rules, in order of priority: whether each applies, and why. Nothing is counted.
   *
   * @overload
   * @param {HttpRequest} request
   * @param {{ explain: true }} options
   * @returns {Explanation[]}
   */
  /**
   * The rules that `checkRequest` would apply, in order of priority; or, to `explain`, all rules, and why each
   * applies or not. Nothing is counted.
   *
   * @overload
   * @param {HttpRequest} request
   * @param {{ explain: boolean }} options
   * @returns {RequestMatch[] | Explanation[]}
   */
  matchRequest(request, given) {
    return matchesOf(this.#caller, request, given);
  }

  /**
   * The rules in force, as rule files state them: what is left to its default is left out.
   *
   * @returns {Rule[]}
   */
  rules() {
    return this.#caller.rules();
  }

  /**
   * Looks at `key` under every rule; changes nothing. The `parts` of the decision hold, for each rule, what it would
   * answer to a check of cost 1 now. Rules that limit a resource are left out unless one is given.
   *
   * @param {Key} key
   * @param {ResetOptions} [options]
   * @returns {Promise<Decision>}
   */
  async inspect(key, options) {
    return this.#caller.makeLong(this.#caller.keyCall(OP.INSPECT, key, options));
  }

  /**
   * Forgets what was counted for `key` under every rule, one after the other. Rules that limit a resource are left out
   * unless one is given.
   *
   * @param {Key} key
   * @param {ResetOptions} [options]
   * @returns {Promise<void>}
   */
  async resetAll(key, options) {
    return this.#caller.make(this.#caller.keyCall(OP.RESET_ALL, key, options));
  }

  /**
   * Adds rules of the application to those of the source, as rule files state them. They stay whatever the source says later,
   * and take effect with the next check; all of them, or none. A source that comes to hold a rule of the same name is refused
   * as one with a mistake is. Does no I/O. Throws `InvalidRule` when a rule is not valid, or a rule in force has its name.
   *
   * @param {string | readonly Rule[] | { readonly rules: readonly Rule[] }} rules JSON text, or an array of rules.
   * @returns {void}
   */
  addRules(rules) {
    this.#caller.addRules(rulesJson(rules));
  }

  /**
   * Changes how many processes share the limits while no server decides, as the option `instances` says at the start: for
   * fleets that grow and shrink. Takes effect with the next call that falls back. Does no I/O. Throws `InvalidArgument` for 0,
   * and for more than 1,000,000.
   *
   * @param {number} instances How many processes there are.
   * @returns {void}
   */
  setInstances(instances) {
    this.#caller.setInstances(number('instances', instances));
  }

  /**
   * What the limiter has counted since it was made: decisions by rule and who decided, their cost, errors by kind, how long
   * servers took to answer, the circuit breaker of each server, the version of the rules, and, where the option `topDenied`
   * asks for them, the keys denied most. Does no I/O.
   *
   * @returns {Metrics}
   */
  metrics() {
    return this.#caller.metrics();
  }

  /**
   * `metrics` in the text format of Prometheus (version 0.0.4), without any key. Does no I/O.
   *
   * @returns {string}
   */
  prometheus() {
    return this.#caller.prometheus();
  }

  /**
   * Which rules are in force, since when, and what was refused of their source.
   *
   * @returns {RulesStatus}
   */
  rulesStatus() {
    return this.#caller.rulesStatus();
  }

  /**
   * Waits until the cost is admitted. Waits for the same key take turns, in the order of their arrival; one that is
   * given up leaves the queue. The last decision is returned: a denial as soon as it is known that the wait would go
   * beyond the timeout. With a `ManualClock` nothing sleeps; the clock is moved on instead.
   *
   * @param {string} rule
   * @param {Key} key
   * @param {WaitOptions} options
   * @returns {Promise<Decision>}
   */
  async wait(rule, key, options) {
    return wait(this.#caller, rule, key, options);
  }

  /**
   * Waits until several checks are admitted together, as `checkAll` decides them: all of them are charged, or none
   * is. It takes its turn among all waits for any of the keys.
   *
   * @param {readonly Check[]} items
   * @param {WaitAllOptions} given
   * @returns {Promise<Decision>}
   */
  async waitAll(items, given) {
    return waitAll(this.#caller, items, given);
  }

  /**
   * Tries the server.
   *
   * @param {PingOptions} [given]
   * @returns {Promise<void>}
   */
  async ping(given) {
    return this.#caller.make(new Call(OP.PING, 0, '', callOptions(given, KNOWN.ping)));
  }

  /**
   * Closes the connections; calls under way are answered first. Final: later calls are rejected with `Closed`.
   * `matchRequest` and `rulesStatus`, which only look at the rules, still answer.
   */
  async close() {
    await this.#caller.close();
  }

  /** As `close`, for `await using`. */
  async [Symbol.asyncDispose]() {
    await this.close();
  }
}

module.exports = { RateLimiter, checkSoonest };
