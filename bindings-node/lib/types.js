'use strict';

// What the public types are put together from: JSDoc gives a typedef neither `readonly` nor `extends`.

/** @import { Decision, ErrorCode, HeaderStyle, SluicegateError } from './index.js' */

/**
 * @typedef {object} DecisionFields
 * @property {boolean} allowed Whether the cost was, or for a peek would be, admitted. Always true for a rule in shadow.
 * @property {string} rule The rule that decided: when denied, the one that makes the caller wait the longest. Empty
 *   when none applied.
 * @property {boolean} ruleApplied Whether any rule applied. Only a request can find that none does; then it is
 *   admitted, and `limit` and `remaining` are 2^53 - 1.
 * @property {number} limit The most that the deciding limit admits at once from a key never seen, in units of cost.
 * @property {number} windowMs The time in which `limit` is admitted anew, over and over; 0 for `decay`, which has no
 *   window.
 * @property {number} remaining The most cost that would still be admitted now.
 * @property {number} retryAfterMs The shortest wait after which the same cost would be admitted if nobody else came,
 *   exact to the microsecond. 0 when it fits, `Infinity` when it never can.
 * @property {number} resetAfterMs Time until the key is as if never seen.
 * @property {boolean} blocked Whether the key is blocked: by an earlier denial, by this one, or by hand.
 * @property {boolean} shadow Whether nothing but rules in shadow decided.
 * @property {boolean} shadowDenied True when a rule in shadow would have denied.
 * @property {'server' | 'memory' | 'fallback' | 'allotment' | 'share'} source Who decided: a Redis server, the in-memory
 *   engine; since no server could, what the rule or the limiter says for that case; the near server, of units that another
 *   region has lent, or by the part of this region.
 * @property {readonly Decision[]} parts One decision per item of a `checkAll`, or rule of a
 *   `checkRequest`, in order; empty otherwise.
 */

/**
 * @typedef {object} Subject
 * @property {string} rule The rule's name.
 * @property {string | readonly string[]} key Who is counted; not empty. The parts of an array are joined.
 */

/**
 * @typedef {object} Verdict
 * @property {boolean} matched Whether the rule applies.
 * @property {string} reason The first condition that does not hold, beginning with the field that states it.
 */

/**
 * An error, as the native part reports it.
 *
 * @typedef {object} Failure
 * @property {ErrorCode} code
 * @property {string} message
 * @property {boolean} retryable
 * @property {string} [key]
 */

/**
 * What a function of the application finds in a request, at once or later.
 *
 * @typedef {string | null | undefined | Promise<string | null | undefined>} Found
 */

/**
 * What the middleware for Express and that for Fastify have in common.
 *
 * @template Request
 * @typedef {object} RateLimitOptions
 * @property {((request: Request) => Found) | undefined} [userId] Who has authenticated. A rule does not apply to a
 *   request that lacks what the rule counts by. Default: nobody.
 * @property {((request: Request) => Found) | string | undefined} [apiKey] The API key, or the name of the header that
 *   has it. Default: none.
 * @property {number | undefined} [trustedProxies] How many proxies stand between clients and this server, each of
 *   which adds the address it was called from to `X-Forwarded-For`. With n of them the client is the n-th address
 *   from the right, over all lines of that header; a port or brackets are ignored. Where there is no valid address,
 *   the client is the peer of the connection. Default: 0, and the header is not looked at.
 *
 *   One proxy too many, and clients choose their addresses themselves.
 * @property {HeaderStyle | undefined} [headers] The headers that state the limits to clients. Default: `ietf`.
 * @property {boolean | undefined} [ignoreCase] Whether the application routes without regard to capitals. Default: of
 *   Fastify, what the application says; of Express `true`, since parts of an application cannot be seen. Even then keys
 *   are spelled as the client spelled them.
 * @property {'admit' | 'deny' | 'throw' | undefined} [onError] What becomes of a request if the limiter cannot decide,
 *   such as when its server is away: it goes on, is answered with 503, or the error is thrown to the framework.
 *   Default: `admit`.
 * @property {number | undefined} [maxLeaseSeconds] For how long what is reserved for a request is renewed at most, in
 *   seconds. A response that is not over by then is logged, and what is held for it ends with its lease: what is committed
 *   later answers `false`. Default: 3600.
 * @property {((error: SluicegateError) => void) | undefined} [log] Receives the error when the limiter could not decide, unless that
 *   is thrown, and that of a reservation which is not renewed any more.
 */

module.exports = {};
