'use strict';

// What the public types are put together from: JSDoc gives a typedef neither `readonly` nor `extends`.

/** @import { Decision, ErrorCode, HeaderStyle, Key, Name, RateLimiter, Rule, SluicegateError } from './index.js' */

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
 * @property {boolean} replicated Whether as many replicas as the option `replicas` asks for have what was charged: where these
 *   are all, no failover loses it. Always false where none are asked for.
 * @property {boolean} shadow Whether nothing but rules in shadow decided.
 * @property {boolean} shadowDenied True when a rule in shadow would have denied.
 * @property {'server' | 'memory' | 'fallback' | 'cache' | 'lease' | 'allotment' | 'share'} source Who decided: a Redis server, the in-memory
 *   engine; since no server could, what the rule or the limiter says for that case; this process, which remembers a denial, or has borrowed units of the server; the near server, of units that another
 *   region has lent, or by the part of this region.
 * @property {readonly Decision[]} parts One decision per item of a `checkAll`, or rule of a
 *   `checkRequest`, in order; empty otherwise.
 */

/**
 * @typedef {object} Subject
 * @property {string} rule The rule's name.
 * @property {Key} key Who is counted.
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
 * The user that it finds.
 *
 * @typedef {Name | null | undefined | Promise<Name | null | undefined>} FoundUser
 */

/**
 * What the middleware for Express and that for Fastify have in common.
 *
 * @template Request
 * @typedef {object} RateLimitOptions
 * @property {((request: Request) => FoundUser) | undefined} [userId] Who has authenticated. A rule does not apply to a
 *   request that lacks what the rule counts by. Default: nobody.
 * @property {((request: Request) => Found) | string | undefined} [apiKey] The API key, or the name of the header that
 *   has it. Default: none.
 * @property {number | string[] | undefined} [trustedProxies] How many proxies stand between clients and this server, each of
 *   which adds the address it was called from to `X-Forwarded-For`. With n of them the client is the n-th address
 *   from the right, over all lines of that header; a port or brackets are ignored. Where there is no valid address,
 *   the client is the peer of the connection. Default: 0, and the header is not looked at.
 *
 *   One proxy too many, and clients choose their addresses themselves.
 *
 *   Or the networks of the proxies, such as `['10.0.0.0/8', '2001:db8::/32']`: the client is the first address, from the peer
 *   on and then from the right, that is in none of them.
 * @property {'x-forwarded-for' | 'forwarded' | undefined} [forwardedHeader] The header that the proxies write: `forwarded` is
 *   that of RFC 7239. They have to write the one that is read: the other one is the client's own word. Default:
 *   `x-forwarded-for`.
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

/**
 * A value, at once or later.
 *
 * @template Value
 * @typedef {Value | Promise<Value>} Later
 */

/**
 * Who is counted: a text that is not empty, a number other than 0, or several texts.
 *
 * @typedef {string | number | bigint | readonly string[]} Named
 */

/**
 * What limits at routes have in common: functions of the request, which may be async.
 *
 * @template {unknown[]} Args
 * @template Response
 * @template {unknown[]} Denied
 * @typedef {object} RouteHooks
 * @property {((...args: Args) => Later<Named>) | undefined} [key] Who is counted, by rates and by rules without
 *   `identifier_type`. One that names nobody is an error that says which route. Default: `userId`, or else the address.
 * @property {((...args: Args) => Later<Named | null | undefined>) | undefined} [userId] The user; `undefined` or `null` for
 *   nobody.
 * @property {number | ((...args: Args) => Later<number>) | undefined} [cost] Default: 1.
 * @property {number | ((...args: Args) => Later<number | null | undefined>) | undefined} [limit] A limit in place of the
 *   rule's single one, such as that of a plan; `undefined`: the rule's.
 * @property {((...args: Args) => Later<boolean | undefined>) | undefined} [skip] `true` exempts the request.
 * @property {((...args: Denied) => unknown) | undefined} [onDenied] Answers a request that is denied, in place of 429 and
 *   problem details.
 * @property {((...args: [...Args, decision: Decision]) => unknown) | undefined} [onDecision] Receives every decision.
 * @property {'all' | 'failures' | 'successes' | ((response: Response) => boolean) | undefined} [count] What is charged: all
 *   requests, those whose answer has a status of 400 and above, the others, or what a function of the response says. The
 *   cost is reserved before, so that requests at the same time do not pass together. Default: `all`.
 * @property {'deny' | 'shared' | 'skip' | undefined} [noAddress] What becomes of a request that is counted by its address
 *   and has none: it is refused, all such share one limit, or it is exempt. Default: `shared`.
 */

/**
 * Functions of middleware, which may be async. One that throws, or answers what it may not, is an error that names it.
 *
 * @template Request
 * @template Response
 * @template {unknown[]} Denied
 * @typedef {object} MatchingHooks
 * @property {((request: Request) => Later<boolean | undefined>) | undefined} [skip] `true` exempts the request, before anything
 *   else is asked.
 * @property {number | ((request: Request) => Later<number>) | undefined} [cost] In place of the `cost` of the rules.
 * @property {number | ((request: Request) => Later<number | null | undefined>) | undefined} [limit] In place of the limit of every
 *   rule that is applied, such as that of a plan; `undefined`: the rules' own. It is for rules with a single limit, which `rules` may choose.
 * @property {readonly string[] | ((request: Request) => Later<readonly string[] | null | undefined>) | undefined} [rules] Names
 *   of rules, such as those of a plan. A rule that is named is applied if it matches; if it has no `match`, in any case.
 *   Default: all rules that match.
 * @property {((request: Request) => Later<Named>) | undefined} [key] Who is counted by rules without `identifier_type`, which
 *   `rules` names. Default: the user, or else the address.
 * @property {((...args: Denied) => unknown) | undefined} [onDenied] Answers a request that is denied, in place of 429 and
 *   problem details.
 * @property {((request: Request, decision: Decision) => unknown) | undefined} [onDecision] Receives every decision.
 * @property {'all' | 'failures' | 'successes' | ((response: Response) => boolean) | undefined} [count] What is charged of what is
 *   reserved, which rules with `"reservations": true` are: all, or what the answer says. Default: `all`.
 */

/**
 * A rate such as `5/minute`, the name of a rule, a rule, or several of them, which are decided together.
 *
 * @typedef {string | Rule | readonly (string | Rule)[]} Stated
 */

/**
 * Options of all limits of one `routeLimits`.
 *
 * @template {unknown[]} Args
 * @template Response
 * @template {unknown[]} Denied
 * @typedef {RouteHooks<Args, Response, Denied>
 *   & Pick<RateLimitOptions<unknown>, 'trustedProxies' | 'forwardedHeader' | 'headers' | 'onError' | 'maxLeaseSeconds' | 'log'>
 *   & RouteNames} RouteDefaults
 */

/**
 * @typedef {object} RouteNames
 * @property {string | undefined} [name] Begins the names of rules that are stated at routes, so that two services on one
 *   Redis count apart. Default: `routes`.
 * @property {boolean | undefined} [enabled] `false` makes every route unlimited. Default: `true`.
 */

/**
 * Options of the limits of one route.
 *
 * @template {unknown[]} Args
 * @template Response
 * @template {unknown[]} Denied
 * @typedef {RouteHooks<Args, Response, Denied> & RouteSharing} RouteLimitOptions
 */

/**
 * @typedef {object} RouteSharing
 * @property {string | undefined} [shared] Routes with the same name share one limit.
 * @property {boolean | undefined} [perMethod] Each method has a limit of its own. `HEAD` counts as `GET`. Default: `false`.
 */

/**
 * A limiter, or a function that finds it by the request.
 *
 * @template {unknown[]} Args
 * @typedef {Later<RateLimiter> | ((...args: Args) => Later<RateLimiter>)} LimiterOf
 */

/**
 * What is needed of a context of Koa.
 *
 * @typedef {object} KoaContext
 * @property {import('node:http').IncomingMessage} req
 * @property {import('node:http').ServerResponse} res
 * @property {object} state
 * @property {number} status
 * @property {unknown} body
 * @property {(name: string) => string} get A header of the request; empty where there is none.
 */

/**
 * Middleware of Express.
 *
 * @template Request
 * @typedef {(request: Request, response: import('node:http').ServerResponse, next: (error?: unknown) => void) => void} ExpressMiddleware
 */

/**
 * What `onDenied` of Express is called with.
 *
 * @template Request
 * @typedef {[
 *   request: Request, decision: Decision, response: import('node:http').ServerResponse, next: (error?: unknown) => void,
 * ]} ExpressDenied
 */

module.exports = {};
