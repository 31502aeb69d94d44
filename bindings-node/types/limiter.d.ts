/**
 * Decides whether a cost is admitted.
 *
 * Whatever is wrong rejects the promise: a `SluicegateError`, for an argument of the wrong type a
 * `WrongTypeError`, which is one. `matchRequest` and `rulesStatus`, which only look, answer at once, and throw. While a call is
 * pending the process stays alive; a limiter at rest does not keep it.
 *
 * @implements {AsyncDisposable}
 */
export class RateLimiter implements AsyncDisposable {
    /**
     * Connects a limiter to the backend that `url` names: `memory://`, `redis://`, `rediss://`, `unix://`,
     * `redis-cluster://h1:p1,h2:p2` or `redis-sentinel://h1:p1,h2:p2/service`.
     *
     * @param {string} url
     * @param {ConnectOptions} options
     * @returns {Promise<RateLimiter>}
     */
    static connect(url: string, options: ConnectOptions): Promise<RateLimiter>;
    /** @private */
    private constructor();
    /**
     * Admits a cost for `key` under `rule`, or denies it.
     *
     * @param {string} rule
     * @param {Key} key
     * @param {CheckOptions} [options]
     * @returns {Promise<Decision>}
     */
    check(rule: string, key: Key, options?: CheckOptions): Promise<Decision>;
    /**
     * What `check` would answer now; changes nothing.
     *
     * @param {string} rule
     * @param {Key} key
     * @param {PeekOptions} [options]
     * @returns {Promise<Decision>}
     */
    peek(rule: string, key: Key, options?: PeekOptions): Promise<Decision>;
    /**
     * Gives back a cost that turned out not to be used, the newest first, and answers as `peek` would then.
     *
     * @param {string} rule
     * @param {Key} key
     * @param {CheckOptions} [options]
     * @returns {Promise<Decision>}
     */
    refund(rule: string, key: Key, options?: CheckOptions): Promise<Decision>;
    /**
     * Counts a cost that was used already, also beyond the limit, and answers as `peek` of 1 would then: a key that is
     * overdrawn is denied until that has passed.
     *
     * @param {string} rule
     * @param {Key} key
     * @param {CheckOptions} [options]
     * @returns {Promise<Decision>}
     */
    charge(rule: string, key: Key, options?: CheckOptions): Promise<Decision>;
    /**
     * Forgets what was counted for `key` under `rule`, and nothing else. What a resource was used in all is
     * kept, since other keys have a part in it; a rule that counts nothing else forgets that.
     *
     * @param {string} rule
     * @param {Key} key
     * @param {ResetOptions} [options]
     * @returns {Promise<void>}
     */
    reset(rule: string, key: Key, options?: ResetOptions): Promise<void>;
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
    block(rule: string, key: Key, durationMs: number, options?: ChangeOptions): Promise<void>;
    /**
     * Ends the block of `key` under `rule`. Answers whether there was one.
     *
     * @param {string} rule
     * @param {Key} key
     * @param {ChangeOptions} [options]
     * @returns {Promise<boolean>}
     */
    unblock(rule: string, key: Key, options?: ChangeOptions): Promise<boolean>;
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
    setLimit(rule: string, key: Key, limit: number, options?: SetLimitOptions): Promise<void>;
    /**
     * Forgets the limit that is stored for `key` under `rule`. Answers whether there was one.
     *
     * @param {string} rule
     * @param {Key} key
     * @param {ChangeOptions} [options]
     * @returns {Promise<boolean>}
     */
    clearLimit(rule: string, key: Key, options?: ChangeOptions): Promise<boolean>;
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
    checkAll(items: readonly Check[], given?: CheckAllOptions): Promise<Decision>;
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
    reserve(rule: string, key: Key, options?: ReserveOptions): Promise<Reservation>;
    /**
     * Reserves several costs together: all of them, or none. Items whose rule has no reservations are charged at once.
     *
     * @param {readonly Check[]} items
     * @param {ReserveAllOptions} [options]
     * @returns {Promise<Reservation>}
     */
    reserveAll(items: readonly Check[], options?: ReserveAllOptions): Promise<Reservation>;
    /**
     * Decides a request as `checkRequest` does, but reserves under the rules that have reservations; the others are charged
     * at once. Where there are none, nothing is held, and `id` is `undefined`.
     *
     * @param {HttpRequest} request
     * @returns {Promise<Reservation>}
     */
    reserveRequest(request: HttpRequest): Promise<Reservation>;
    /**
     * Ends a reservation, given by itself or its id, and charges what was really used, also beyond the limit: as much as
     * was reserved, unless `cost` says otherwise. Answers whether it took effect: not where the reservation had ended,
     * expired or been denied.
     *
     * @param {string | Reservation} reservation
     * @param {Usage} [cost]
     * @returns {Promise<boolean>}
     */
    commit(reservation: string | Reservation, cost?: Usage): Promise<boolean>;
    /**
     * Ends a reservation, given by itself or its id, of which nothing was used. Answers whether it took effect.
     *
     * @param {string | Reservation} reservation
     * @returns {Promise<boolean>}
     */
    release(reservation: string | Reservation): Promise<boolean>;
    /**
     * Renews the lease of a reservation, given by itself or its id. Answers whether it took effect.
     *
     * @param {string | Reservation} reservation
     * @returns {Promise<boolean>}
     */
    renew(reservation: string | Reservation): Promise<boolean>;
    /**
     * Decides a request by all the rules that match it, together, as `checkAll` does: `parts` holds one decision per
     * rule, in order of priority. A request that no rule matches is admitted, and `ruleApplied` says so.
     *
     * @param {HttpRequest} request
     * @returns {Promise<Decision>}
     */
    checkRequest(request: HttpRequest): Promise<Decision>;
    /**
     * The rules that `checkRequest` would apply, in order of priority. Nothing is counted.
     *
     * @overload
     * @param {HttpRequest} request
     * @param {{ explain?: false | undefined }} [options]
     * @returns {RequestMatch[]}
     */
    matchRequest(request: HttpRequest, options?: {
        explain?: false | undefined;
    } | undefined): RequestMatch[];
    /**
     * All rules, in order of priority: whether each applies, and why. Nothing is counted.
     *
     * @overload
     * @param {HttpRequest} request
     * @param {{ explain: true }} options
     * @returns {Explanation[]}
     */
    matchRequest(request: HttpRequest, options: {
        explain: true;
    }): Explanation[];
    /**
     * The rules that `checkRequest` would apply, in order of priority; or, to `explain`, all rules, and why each
     * applies or not. Nothing is counted.
     *
     * @overload
     * @param {HttpRequest} request
     * @param {{ explain: boolean }} options
     * @returns {RequestMatch[] | Explanation[]}
     */
    matchRequest(request: HttpRequest, options: {
        explain: boolean;
    }): RequestMatch[] | Explanation[];
    /**
     * The rules in force, as rule files state them: what is left to its default is left out.
     *
     * @returns {Rule[]}
     */
    rules(): Rule[];
    /**
     * Looks at `key` under every rule; changes nothing. The `parts` of the decision hold, for each rule, what it would
     * answer to a check of cost 1 now. Rules that limit a resource are left out unless one is given.
     *
     * @param {Key} key
     * @param {ResetOptions} [options]
     * @returns {Promise<Decision>}
     */
    inspect(key: Key, options?: ResetOptions): Promise<Decision>;
    /**
     * Forgets what was counted for `key` under every rule, one after the other. Rules that limit a resource are left out
     * unless one is given.
     *
     * @param {Key} key
     * @param {ResetOptions} [options]
     * @returns {Promise<void>}
     */
    resetAll(key: Key, options?: ResetOptions): Promise<void>;
    /**
     * Adds rules of the application to those of the source, as rule files state them. They stay whatever the source says later,
     * and take effect with the next check; all of them, or none. A source that comes to hold a rule of the same name is refused
     * as one with a mistake is. Does no I/O. Throws `InvalidRule` when a rule is not valid, or a rule in force has its name.
     *
     * @param {string | readonly Rule[] | { readonly rules: readonly Rule[] }} rules JSON text, or an array of rules.
     * @returns {void}
     */
    addRules(rules: string | readonly Rule[] | {
        readonly rules: readonly Rule[];
    }): void;
    /**
     * Changes how many processes share the limits while no server decides, as the option `instances` says at the start: for
     * fleets that grow and shrink. Takes effect with the next call that falls back. Does no I/O. Throws `InvalidArgument` for 0,
     * and for more than 1,000,000.
     *
     * @param {number} instances How many processes there are.
     * @returns {void}
     */
    setInstances(instances: number): void;
    /**
     * What the limiter has counted since it was made: decisions by rule and who decided, their cost, errors by kind, how long
     * servers took to answer, the circuit breaker of each server, the version of the rules, and, where the option `topDenied`
     * asks for them, the keys denied most. Does no I/O.
     *
     * @returns {Metrics}
     */
    metrics(): Metrics;
    /**
     * `metrics` in the text format of Prometheus (version 0.0.4), without any key. Does no I/O.
     *
     * @returns {string}
     */
    prometheus(): string;
    /**
     * Which rules are in force, since when, and what was refused of their source.
     *
     * @returns {RulesStatus}
     */
    rulesStatus(): RulesStatus;
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
    wait(rule: string, key: Key, options: WaitOptions): Promise<Decision>;
    /**
     * Waits until several checks are admitted together, as `checkAll` decides them: all of them are charged, or none
     * is. It takes its turn among all waits for any of the keys.
     *
     * @param {readonly Check[]} items
     * @param {WaitAllOptions} given
     * @returns {Promise<Decision>}
     */
    waitAll(items: readonly Check[], given: WaitAllOptions): Promise<Decision>;
    /**
     * Tries the server.
     *
     * @param {PingOptions} [given]
     * @returns {Promise<void>}
     */
    ping(given?: PingOptions): Promise<void>;
    /**
     * Closes the connections; calls under way are answered first. Final: later calls are rejected with `Closed`.
     * `matchRequest` and `rulesStatus`, which only look at the rules, still answer.
     */
    close(): Promise<void>;
    /** As `close`, for `await using`. */
    [Symbol.asyncDispose](): Promise<void>;
    #private;
}
/**
 * Checks a key by a limiter as its `check` does, but what is decided at once is answered without a promise, and thrown. Not for users.
 *
 * @type {(limiter: RateLimiter, rule: string, key: Key) => Decision | Promise<Decision>}
 */
export let checkSoonest: (limiter: RateLimiter, rule: string, key: Key) => Decision | Promise<Decision>;
import type { Key } from './index.js';
import type { CheckOptions } from './index.js';
import type { Decision } from './index.js';
import type { PeekOptions } from './index.js';
import type { ResetOptions } from './index.js';
import type { ChangeOptions } from './index.js';
import type { SetLimitOptions } from './index.js';
import type { Check } from './index.js';
import type { CheckAllOptions } from './index.js';
import type { ReserveOptions } from './index.js';
import type { Reservation } from './reservation.js';
import type { ReserveAllOptions } from './index.js';
import type { HttpRequest } from './index.js';
import type { Usage } from './index.js';
import type { RequestMatch } from './index.js';
import type { Explanation } from './index.js';
import type { Rule } from './index.js';
import type { Metrics } from './index.js';
import type { RulesStatus } from './index.js';
import type { WaitOptions } from './index.js';
import type { WaitAllOptions } from './index.js';
import type { PingOptions } from './index.js';
import type { ConnectOptions } from './index.js';
