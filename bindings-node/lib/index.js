'use strict';

// One rate limiter for a fleet: it decides atomically inside Redis, or in memory, by one set of rules.
// The types of what it takes and answers are here; scripts/types.js makes types/ of them.

/** @import { DecisionFields, Subject, Verdict } from './types.js' */

/**
 * Whether a cost is admitted. A denial is a decision too, never an error.
 *
 * @typedef {Readonly<DecisionFields>} Decision
 */

/**
 * Who or what is counted: a text, or an integer such as the primary key of a row, which is its decimal text. A number from
 * 2^53 on may stand for several integers, and is refused.
 *
 * @typedef {string | number | bigint} Name
 */

/**
 * Who is counted; not empty. The parts of an array are joined.
 *
 * @typedef {Name | readonly Name[]} Key
 */

/**
 * Options of a peek, of a reservation, or of an item of a `checkAll`.
 *
 * @typedef {object} PeekOptions
 * @property {number | undefined} [cost] How much to admit: a whole number, at least 1, which is the default.
 * @property {Name | undefined} [resource] The resource that is used; needed by rules with a limit of scope
 *   `resource`, and only by them.
 * @property {number | undefined} [limit] Takes the place of the rule's single limit for this one call, for plans and
 *   tiers.
 * @property {number | undefined} [timeoutMs] The whole time that the call may take, from 1 to 3,600,000: to connect, to
 *   find the server and to be answered. Of several items the shortest counts. Default: `connectTimeoutMs` and
 *   `responseTimeoutMs` together.
 */

/**
 * Options of a `checkAll` as a whole.
 *
 * @typedef {object} CheckAllOptions
 * @property {string | undefined} [requestId] Makes the call safe to repeat: 1 to 64 bytes that name it among those of the
 *   same rule and key. Later calls with the same id get the answer of the first and charge nothing, for as long as
 *   `requestIdSeconds` says; and after a timeout or a broken connection the limiter repeats the call by itself, within
 *   its time.
 */

/**
 * Options of one check, refund or charge.
 *
 * @typedef {PeekOptions & CheckAllOptions} CheckOptions
 */

/**
 * Options of a reset.
 *
 * @typedef {Pick<PeekOptions, 'resource' | 'timeoutMs'>} ResetOptions
 */

/**
 * Options of a ping.
 *
 * @typedef {Pick<PeekOptions, 'timeoutMs'>} PingOptions
 */

/**
 * Options of a call that changes a block or a stored limit.
 *
 * @typedef {Pick<CheckOptions, 'timeoutMs'>} ChangeOptions
 */

/**
 * Options of a limit that is stored.
 *
 * @typedef {object} SetLimitOptions
 * @property {number | undefined} [expiresInMs] How long it holds. Default: until it is cleared.
 * @property {number | undefined} [timeoutMs] As of a check.
 */

/**
 * Options of a wait for several checks.
 *
 * @typedef {object} WaitAllOptions
 * @property {number} timeoutMs The longest time to wait; `Infinity`: for ever.
 * @property {AbortSignal | undefined} [signal] Gives up the wait, whose promise is then rejected with the signal's
 *   reason.
 */

/**
 * Options of a wait.
 *
 * @typedef {PeekOptions & WaitAllOptions} WaitOptions
 */

/**
 * Options of a reservation of several items.
 *
 * @typedef {object} ReserveAllOptions
 * @property {number | undefined} [waitMs] The longest time to wait for room; `Infinity`: for ever. Default: 0.
 * @property {AbortSignal | undefined} [signal] Gives up the call, whose promise is then rejected with the signal's
 *   reason. What is reserved for it is released.
 * @property {boolean | undefined} [renewed] Whether the lease is renewed in the background until the reservation is ended,
 *   or forgotten. Default: it is not.
 */

/**
 * Options of a reservation.
 *
 * @typedef {PeekOptions & ReserveAllOptions} ReserveOptions
 */

/**
 * One item of a `checkAll`, of a `waitAll` or of a `reserveAll`.
 *
 * @typedef {Subject & PeekOptions} Check
 */

/**
 * What was really used of a reservation: of its one item; or of several, by rule, where each item of a rule is charged
 * the cost; or in an array, by the place of the item in the call. What is left out is charged as it was reserved.
 *
 * @typedef {number | Readonly<Record<string, number>> | readonly (number | undefined)[]} Usage
 */

/**
 * A request, from which the rules that apply to it and their keys are found. An empty text is as good as none.
 *
 * @typedef {object} HttpRequest
 * @property {string} method The method; capitals do not count.
 * @property {string} path The target as the request line has it: percent-encoded, with or without a query. What was
 *   decoded already has to be encoded again.
 * @property {Name | null | undefined} [userId] The user, once authenticated.
 * @property {string | null | undefined} [ip] The client's address, IPv4 or IPv6, without a port.
 * @property {string | null | undefined} [apiKey] The client's API key.
 * @property {Readonly<Record<string, string | readonly string[] | undefined>>
 *   | Iterable<readonly [string, string]>
 *   | undefined} [headers] The headers, as Node has them, or `Headers`, or pairs of a name and a value. Of one that
 *   has several values, each counts.
 * @property {string | null | undefined} [apiKeyHeader] The header that has the API key, each of whose values counts.
 * @property {readonly string[] | undefined} [otherPaths] Other paths that the application may act on, spelled like
 *   `path`; at most 4.
 * @property {boolean | undefined} [ignoreCase] Whether the application routes without regard to capitals. Default:
 *   `false`.
 * @property {number | undefined} [timeoutMs] The whole time that `checkRequest` may take, as in `CheckOptions`.
 */

/**
 * A rule that applies to a request.
 *
 * @typedef {object} RequestMatch
 * @property {string} ruleId The rule's name.
 * @property {string} key Who is counted.
 * @property {string} [resource] The resource that is used, for a rule that limits one.
 */

/**
 * What a rule has to do with a request.
 *
 * @typedef {Pick<RequestMatch, 'ruleId'> & Verdict & Partial<RequestMatch>} Explanation
 */

/**
 * Which rules are in force, since when, and what was refused.
 *
 * @typedef {object} RulesStatus
 * @property {string} source Where the rules come from, without passwords; `fixed` for rules that never change.
 * @property {string} version Identifies the rules in force.
 * @property {number} rules How many rules are in force.
 * @property {Date} loadedAt When the rules in force were loaded.
 * @property {number} updates How often rules took effect, those of the start included.
 * @property {number} refusals How many updates were refused since the start.
 * @property {{ unit: string, reason: string }[]} refused What is refused at present: a rule, or the source where that
 *   is updated as a whole, and why.
 * @property {boolean} reachable Whether the source could be read the last time. Changes go unnoticed as long as it
 *   cannot.
 * @property {boolean} cached Whether the rules are the copy of the cache, as the source could not be read yet.
 * @property {string} [lastError] What last went wrong, even if it is well again.
 */

/**
 * What a limiter has counted.
 *
 * @typedef {object} Metrics
 * @property {Record<string, RuleMetrics>} rules The rules in force, by their names.
 * @property {Record<string, number>} errors How many calls ended with an error since no server could decide, by its kind.
 * @property {Record<string, ServerMetrics>} servers The servers in use, by their addresses.
 * @property {RoundTrips} roundTrips How long servers took to answer.
 * @property {string} rulesVersion Identifies the rules in force.
 * @property {number} rulesRefusals How many updates of the rules were refused.
 * @property {string | null} region The region of the limiter, if it has one.
 */

/**
 * What is counted of a rule.
 *
 * @typedef {object} RuleMetrics
 * @property {Record<string, DecisionCounts>} decisions Checks and reservations, by who decided; who never did is left out.
 * @property {number} cost What admitted calls have cost.
 * @property {number} waiting Calls that now wait for room.
 * @property {LoanUnits} loans Units that servers and other regions lend.
 * @property {DeniedKey[]} topDenied The keys denied most, the most first.
 */

/**
 * Units that servers and other regions lend, by what became of them.
 *
 * @typedef {object} LoanUnits
 * @property {number} asked Asked of the region in charge.
 * @property {number} granted Granted by it.
 * @property {number} spent Spent here.
 * @property {number} givenBack Given back unspent.
 * @property {number} lost To be given back, or kept, where no server answered.
 */

/**
 * A key that is denied often: from `denied - overstated` to `denied` times.
 *
 * @typedef {object} DeniedKey
 * @property {string} key The key as it is stored, of a long one the first 256 bytes.
 * @property {number} denied How often it was denied, at most.
 * @property {number} overstated By how much that may be too many.
 */

/**
 * What is counted of a server.
 *
 * @typedef {object} ServerMetrics
 * @property {boolean} breakerOpen Whether its circuit breaker is open.
 * @property {number} breakerOpenings How often it has opened.
 */

/**
 * How calls under a rule ended.
 *
 * @typedef {object} DecisionCounts
 * @property {number} admitted Those admitted.
 * @property {number} denied Those denied for want of room.
 * @property {number} shadowDenied Those that a rule in shadow would have denied.
 * @property {number} blocked Those denied since the key is blocked.
 * @property {number} error Those that nobody decided.
 */

/**
 * How long servers took to answer, as a histogram.
 *
 * @typedef {object} RoundTrips
 * @property {number} count How many answers there were.
 * @property {number} sumMs What all of them took together.
 * @property {RoundTripBucket[]} buckets By ascending bounds.
 */

/**
 * How many answers took so long at most.
 *
 * @typedef {object} RoundTripBucket
 * @property {number} atMostMs The bound.
 * @property {number} count How many answers.
 */

/**
 * The headers that tell a client about limits: `RateLimit-Policy` and `RateLimit`, as
 * draft-ietf-httpapi-ratelimit-headers-10 has them, or `X-RateLimit-Limit`, `-Remaining` and `-Reset`: with
 * `x-ratelimit` a Unix time in seconds, by this machine's clock, with `x-ratelimit-seconds` the seconds from now. The styles
 * `ietf-draft-6`, `ietf-draft-7` and `ietf-draft-8` are for clients of earlier drafts; `none` is none but `Retry-After` of a denial.
 *
 * @typedef {'ietf' | 'ietf-draft-6' | 'ietf-draft-7' | 'ietf-draft-8' | 'x-ratelimit' | 'x-ratelimit-seconds' | 'none'} HeaderStyle
 */

// Rules, from docs/rules.schema.json by docs/tools/rule_types.py.

/**
 * How keys of a rule are blocked.
 *
 * @typedef {object} Block
 * @property {number} [factor] A block that begins within max_seconds after the last one is so many times longer.
 *   Default: 1.
 * @property {number} [max_seconds] The longest block. Default: 10 times seconds.
 * @property {number} [seconds] How long a key is blocked that was denied. Default: keys are blocked by hand alone.
 */

/**
 * How a limit holds over regions.
 *
 * @typedef {object} Global
 * @property {number} [max_age_ms] How long what is lent to another region may be used, and a denial be remembered
 *   there. Default: 2000, or the window.
 */

/**
 * How a process borrows units of its server.
 *
 * @typedef {object} Lease
 * @property {number} [max_age_ms] How long borrowed units may be spent; the window at most. Default: 20, or the
 *   window.
 * @property {number} [pace_ms] How much time lies between two requests for units of one key; max_age_ms at most.
 *   Default: half of max_age_ms.
 */

/**
 * One of several limits of a rule.
 *
 * @typedef {object} Limit
 * @property {number} [limit] The cost that may be admitted per window, or be in flight at once.
 * @property {number} [month_start_day] The day at which a month of the calendar begins; in a month that lacks it,
 *   its last day. Default: 1.
 * @property {string} [rate] Limit and window in one, in place of limit and window_size_seconds: 5/minute, 100/s,
 *   20/30s.
 * @property {number} [resolution_seconds] Length of a slot. Default of sliding_buckets: a sixtieth of the window.
 * @property {'key' | 'resource'} [scope] Who shares the limit. Default: key.
 * @property {string} [time_zone] The time zone of a window of the calendar, by its IANA name, such as
 *   Europe/Berlin. Default: UTC.
 * @property {'day' | 'week' | 'month' | 'year'} [window] A window of the calendar, in place of window_size_seconds.
 * @property {number} [window_size_seconds] Length of the window.
 */

/**
 * Which requests a rule applies to.
 *
 * @typedef {object} Match
 * @property {string | readonly string[]} [ip_subnet] The address is in one of these networks (CIDR).
 * @property {readonly string[]} [methods] The method is one of these.
 * @property {string} [path_pattern] The path matches: * is any run of characters, {name} is one segment.
 * @property {Readonly<Record<string, string>>} [required_headers] Each header has this value; * stands for any
 *   value.
 * @property {boolean} [requires_authentication] The request has a user.
 */

/**
 * A rule, with the names of fields that rule files have.
 *
 * @typedef {object} Rule
 * @property {string} rule_id Name of the rule, unique in its file.
 * @property {'fixed_window' | 'sliding_window' | 'sliding_log' | 'sliding_buckets' | 'gcra' | 'token_bucket' |
 *   'leaky_bucket' | 'uniform' | 'decay' | 'concurrency'} [algorithm] How the limit is kept. Default: gcra.
 * @property {Block} [block] A key that is denied stays denied for some time; {}: only keys that are blocked by
 *   hand.
 * @property {number} [burst] The most that is admitted at once. Default: the limit.
 * @property {number} [cost] What a request costs to which the rule applies. Default: 1.
 * @property {boolean} [count_denied] Charge denied costs too, by the limits that refused them. Default: false.
 * @property {number} [decay_factor] Each slot that passes divides the level by this. Default: 2.
 * @property {string} [description] For people.
 * @property {'error' | 'allow' | 'deny' | 'local'} [fallback] What a call answers that no server can decide.
 *   Default: what the limiter's option of that name says.
 * @property {Global} [global] The limit holds over all regions of the limiter. Default: each region counts by
 *   itself.
 * @property {string | readonly string[]} [identifier_type] What of a request is the key: user_id, ip_address,
 *   api_key, header:<name>, path:<name> or global; or an array of them.
 * @property {number} [ipv6_prefix_length] How many leading bits of an IPv6 address identify a client. Default: 64.
 * @property {Lease} [lease] A process borrows units of its server ahead of its calls, and decides by them. Default:
 *   the server decides each check.
 * @property {number} [lease_seconds] How long a reservation lives without being renewed. Default: 60.
 * @property {number} [limit] The cost that may be admitted per window, or be in flight at once.
 * @property {readonly Limit[]} [limits] Several limits, decided together, in place of limit and
 *   window_size_seconds.
 * @property {Match} [match] Which requests the rule applies to. Default: only by name.
 * @property {number} [month_start_day] The day at which a month of the calendar begins; in a month that lacks it,
 *   its last day. Default: 1.
 * @property {boolean} [overrides] Limits of single keys may be stored. Default: false.
 * @property {number} [priority] Lower numbers are decided and reported first. Default: 0.
 * @property {string} [rate] Limit and window in one, in place of limit and window_size_seconds: 5/minute, 100/s,
 *   20/30s.
 * @property {boolean} [reservations] Usage may be reserved, and charged when it is known. Default: false.
 * @property {number} [resolution_seconds] Length of a slot. Default of sliding_buckets: a sixtieth of the window.
 * @property {string} [resource_identifier_type] Which part of a request is the resource.
 * @property {boolean} [shadow] Decide and count, but always admit. Default: false.
 * @property {'list' | 'sorted_set'} [structure] The Redis type that holds the log. Default: list.
 * @property {string} [time_zone] The time zone of a window of the calendar, by its IANA name, such as
 *   Europe/Berlin. Default: UTC.
 * @property {Match | readonly Match[]} [unless] Conditions like those of match, or an array of them: the rule does
 *   not apply where one of them holds.
 * @property {'day' | 'week' | 'month' | 'year'} [window] A window of the calendar, in place of window_size_seconds.
 * @property {number} [window_size_seconds] Length of the window.
 * @property {'aligned' | 'first_request'} [window_start] When windows begin: at the same instant for every key, or
 *   at its first request. Default: aligned.
 */

// So far from the schema.

/** @typedef {import('./table.js').ConnectOptions} ConnectOptions */

/** @typedef {import('./events.js').LimiterEvent} LimiterEvent */

/** @typedef {import('./credentials.js').Credentials} Credentials */

/** @typedef {import('./credentials.js').CredentialsProvider} CredentialsProvider */

/**
 * What went wrong.
 *
 * - `InvalidRule`: a rule, or a file of rules, is not valid.
 * - `UnknownRule`: no rule has the name that was asked for.
 * - `InvalidArgument`: a key, cost, resource, option or URL is not acceptable.
 * - `Connection`: the server cannot be reached, or the connection broke.
 * - `Timeout`: the server did not answer in time. Whether the cost was charged is not known.
 * - `Server`: the server answered with an error.
 * - `Closed`: the limiter was closed.
 *
 * @typedef {'InvalidRule' | 'UnknownRule' | 'InvalidArgument' | 'Connection' | 'Timeout' | 'Server' | 'Closed'} ErrorCode
 */

const { addressKey } = require('./address.js');
const { ManualClock } = require('./clock.js');
const { SluicegateError, WrongTypeError } = require('./error.js');
const { events } = require('./events.js');
const { headers } = require('./headers.js');
const { RateLimiter } = require('./limiter.js');
const { Reservation } = require('./reservation.js');

module.exports = { ManualClock, RateLimiter, Reservation, SluicegateError, WrongTypeError, addressKey, events, headers };
