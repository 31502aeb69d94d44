/**
 * Whether a cost is admitted. A denial is a decision too, never an error.
 */
export type Decision = Readonly<DecisionFields>;
/**
 * Who or what is counted: a text, or an integer such as the primary key of a row, which is its decimal text. A number from
 * 2^53 on may stand for several integers, and is refused.
 */
export type Name = string | number | bigint;
/**
 * Who is counted; not empty. The parts of an array are joined.
 */
export type Key = Name | readonly Name[];
/**
 * Options of a peek, of a reservation, or of an item of a `checkAll`.
 */
export type PeekOptions = {
    /**
     * How much to admit: a whole number, at least 1, which is the default.
     */
    cost?: number | undefined;
    /**
     * The resource that is used; needed by rules with a limit of scope
     * `resource`, and only by them.
     */
    resource?: Name | undefined;
    /**
     * Takes the place of the rule's single limit for this one call, for plans and
     * tiers.
     */
    limit?: number | undefined;
    /**
     * The whole time that the call may take, from 1 to 3,600,000: to connect, to
     * find the server and to be answered. Of several items the shortest counts. Default: `connectTimeoutMs` and
     * `responseTimeoutMs` together.
     */
    timeoutMs?: number | undefined;
};
/**
 * Options of a `checkAll` as a whole.
 */
export type CheckAllOptions = {
    /**
     * Makes the call safe to repeat: 1 to 64 bytes that name it among those of the
     * same rule and key. Later calls with the same id get the answer of the first and charge nothing, for as long as
     * `requestIdSeconds` says; and after a timeout or a broken connection the limiter repeats the call by itself, within
     * its time.
     */
    requestId?: string | undefined;
};
/**
 * Options of one check, refund or charge.
 */
export type CheckOptions = PeekOptions & CheckAllOptions;
/**
 * Options of a reset.
 */
export type ResetOptions = Pick<PeekOptions, "resource" | "timeoutMs">;
/**
 * Options of a ping.
 */
export type PingOptions = Pick<PeekOptions, "timeoutMs">;
/**
 * Options of a call that changes a block or a stored limit.
 */
export type ChangeOptions = Pick<CheckOptions, "timeoutMs">;
/**
 * Options of a limit that is stored.
 */
export type SetLimitOptions = {
    /**
     * How long it holds. Default: until it is cleared.
     */
    expiresInMs?: number | undefined;
    /**
     * As of a check.
     */
    timeoutMs?: number | undefined;
};
/**
 * Options of a wait for several checks.
 */
export type WaitAllOptions = {
    /**
     * The longest time to wait; `Infinity`: for ever.
     */
    timeoutMs: number;
    /**
     * Gives up the wait, whose promise is then rejected with the signal's
     * reason.
     */
    signal?: AbortSignal | undefined;
};
/**
 * Options of a wait.
 */
export type WaitOptions = PeekOptions & WaitAllOptions;
/**
 * Options of a reservation of several items.
 */
export type ReserveAllOptions = {
    /**
     * The longest time to wait for room; `Infinity`: for ever. Default: 0.
     */
    waitMs?: number | undefined;
    /**
     * Gives up the call, whose promise is then rejected with the signal's
     * reason. What is reserved for it is released.
     */
    signal?: AbortSignal | undefined;
    /**
     * Whether the lease is renewed in the background until the reservation is ended,
     * or forgotten. Default: it is not.
     */
    renewed?: boolean | undefined;
};
/**
 * Options of a reservation.
 */
export type ReserveOptions = PeekOptions & ReserveAllOptions;
/**
 * One item of a `checkAll`, of a `waitAll` or of a `reserveAll`.
 */
export type Check = Subject & PeekOptions;
/**
 * What was really used of a reservation: of its one item; or of several, by rule, where each item of a rule is charged
 * the cost; or in an array, by the place of the item in the call. What is left out is charged as it was reserved.
 */
export type Usage = number | Readonly<Record<string, number>> | readonly (number | undefined)[];
/**
 * A request, from which the rules that apply to it and their keys are found. An empty text is as good as none.
 */
export type HttpRequest = {
    /**
     * The method; capitals do not count.
     */
    method: string;
    /**
     * The target as the request line has it: percent-encoded, with or without a query. What was
     * decoded already has to be encoded again.
     */
    path: string;
    /**
     * The user, once authenticated.
     */
    userId?: Name | null | undefined;
    /**
     * The client's address, IPv4 or IPv6, without a port.
     */
    ip?: string | null | undefined;
    /**
     * The client's API key.
     */
    apiKey?: string | null | undefined;
    /**
     * The headers, as Node has them, or `Headers`, or pairs of a name and a value. Of one that
     * has several values, each counts.
     */
    headers?: Readonly<Record<string, string | readonly string[] | undefined>> | Iterable<readonly [string, string]> | undefined;
    /**
     * The header that has the API key, each of whose values counts.
     */
    apiKeyHeader?: string | null | undefined;
    /**
     * Other paths that the application may act on, spelled like
     * `path`; at most 4.
     */
    otherPaths?: readonly string[] | undefined;
    /**
     * Whether the application routes without regard to capitals. Default:
     * `false`.
     */
    ignoreCase?: boolean | undefined;
    /**
     * The whole time that `checkRequest` may take, as in `CheckOptions`.
     */
    timeoutMs?: number | undefined;
};
/**
 * A rule that applies to a request.
 */
export type RequestMatch = {
    /**
     * The rule's name.
     */
    ruleId: string;
    /**
     * Who is counted.
     */
    key: string;
    /**
     * The resource that is used, for a rule that limits one.
     */
    resource?: string;
};
/**
 * What a rule has to do with a request.
 */
export type Explanation = Pick<RequestMatch, "ruleId"> & Verdict & Partial<RequestMatch>;
/**
 * Which rules are in force, since when, and what was refused.
 */
export type RulesStatus = {
    /**
     * Where the rules come from, without passwords; `fixed` for rules that never change.
     */
    source: string;
    /**
     * Identifies the rules in force.
     */
    version: string;
    /**
     * How many rules are in force.
     */
    rules: number;
    /**
     * When the rules in force were loaded.
     */
    loadedAt: Date;
    /**
     * How often rules took effect, those of the start included.
     */
    updates: number;
    /**
     * How many updates were refused since the start.
     */
    refusals: number;
    /**
     * What is refused at present: a rule, or the source where that
     * is updated as a whole, and why.
     */
    refused: {
        unit: string;
        reason: string;
    }[];
    /**
     * Whether the source could be read the last time. Changes go unnoticed as long as it
     * cannot.
     */
    reachable: boolean;
    /**
     * Whether the rules are the copy of the cache, as the source could not be read yet.
     */
    cached: boolean;
    /**
     * What last went wrong, even if it is well again.
     */
    lastError?: string;
};
/**
 * What a limiter has counted.
 */
export type Metrics = {
    /**
     * The rules in force, by their names.
     */
    rules: Record<string, RuleMetrics>;
    /**
     * How many calls ended with an error since no server could decide, by its kind.
     */
    errors: Record<string, number>;
    /**
     * The servers in use, by their addresses.
     */
    servers: Record<string, ServerMetrics>;
    /**
     * How long servers took to answer.
     */
    roundTrips: RoundTrips;
    /**
     * Identifies the rules in force.
     */
    rulesVersion: string;
    /**
     * How many updates of the rules were refused.
     */
    rulesRefusals: number;
    /**
     * The region of the limiter, if it has one.
     */
    region: string | null;
};
/**
 * What is counted of a rule.
 */
export type RuleMetrics = {
    /**
     * Checks and reservations, by who decided; who never did is left out.
     */
    decisions: Record<string, DecisionCounts>;
    /**
     * What admitted calls have cost.
     */
    cost: number;
    /**
     * Calls that now wait for room.
     */
    waiting: number;
    /**
     * Units that servers and other regions lend.
     */
    loans: LoanUnits;
    /**
     * The keys denied most, the most first.
     */
    topDenied: DeniedKey[];
};
/**
 * Units that servers and other regions lend, by what became of them.
 */
export type LoanUnits = {
    /**
     * Asked of the region in charge.
     */
    asked: number;
    /**
     * Granted by it.
     */
    granted: number;
    /**
     * Spent here.
     */
    spent: number;
    /**
     * Given back unspent.
     */
    givenBack: number;
    /**
     * To be given back, or kept, where no server answered.
     */
    lost: number;
};
/**
 * A key that is denied often: from `denied - overstated` to `denied` times.
 */
export type DeniedKey = {
    /**
     * The key as it is stored, of a long one the first 256 bytes.
     */
    key: string;
    /**
     * How often it was denied, at most.
     */
    denied: number;
    /**
     * By how much that may be too many.
     */
    overstated: number;
};
/**
 * What is counted of a server.
 */
export type ServerMetrics = {
    /**
     * Whether its circuit breaker is open.
     */
    breakerOpen: boolean;
    /**
     * How often it has opened.
     */
    breakerOpenings: number;
};
/**
 * How calls under a rule ended.
 */
export type DecisionCounts = {
    /**
     * Those admitted.
     */
    admitted: number;
    /**
     * Those denied for want of room.
     */
    denied: number;
    /**
     * Those that a rule in shadow would have denied.
     */
    shadowDenied: number;
    /**
     * Those denied since the key is blocked.
     */
    blocked: number;
    /**
     * Those that nobody decided.
     */
    error: number;
};
/**
 * How long servers took to answer, as a histogram.
 */
export type RoundTrips = {
    /**
     * How many answers there were.
     */
    count: number;
    /**
     * What all of them took together.
     */
    sumMs: number;
    /**
     * By ascending bounds.
     */
    buckets: RoundTripBucket[];
};
/**
 * How many answers took so long at most.
 */
export type RoundTripBucket = {
    /**
     * The bound.
     */
    atMostMs: number;
    /**
     * How many answers.
     */
    count: number;
};
/**
 * The headers that tell a client about limits: `RateLimit-Policy` and `RateLimit`, as
 * draft-ietf-httpapi-ratelimit-headers-10 has them, or `X-RateLimit-Limit`, `-Remaining` and `-Reset`: with
 * `x-ratelimit` a Unix time in seconds, by this machine's clock, with `x-ratelimit-seconds` the seconds from now. The styles
 * `ietf-draft-6`, `ietf-draft-7` and `ietf-draft-8` are for clients of earlier drafts; `none` is none but `Retry-After` of a denial.
 */
export type HeaderStyle = "ietf" | "ietf-draft-6" | "ietf-draft-7" | "ietf-draft-8" | "x-ratelimit" | "x-ratelimit-seconds" | "none";
/**
 * How keys of a rule are blocked.
 */
export type Block = {
    /**
     * A block that begins within max_seconds after the last one is so many times longer.
     * Default: 1.
     */
    factor?: number;
    /**
     * The longest block. Default: 10 times seconds.
     */
    max_seconds?: number;
    /**
     * How long a key is blocked that was denied. Default: keys are blocked by hand alone.
     */
    seconds?: number;
};
/**
 * How a limit holds over regions.
 */
export type Global = {
    /**
     * How long what is lent to another region may be used, and a denial be remembered
     * there. Default: 2000, or the window.
     */
    max_age_ms?: number;
};
/**
 * How a process borrows units of its server.
 */
export type Lease = {
    /**
     * How long borrowed units may be spent; the window at most. Default: 20, or the
     * window.
     */
    max_age_ms?: number;
    /**
     * How much time lies between two requests for units of one key; max_age_ms at most.
     * Default: half of max_age_ms.
     */
    pace_ms?: number;
};
/**
 * One of several limits of a rule.
 */
export type Limit = {
    /**
     * The cost that may be admitted per window, or be in flight at once.
     */
    limit?: number;
    /**
     * The day at which a month of the calendar begins; in a month that lacks it,
     * its last day. Default: 1.
     */
    month_start_day?: number;
    /**
     * Limit and window in one, in place of limit and window_size_seconds: 5/minute, 100/s,
     * 20/30s.
     */
    rate?: string;
    /**
     * Length of a slot. Default of sliding_buckets: a sixtieth of the window.
     */
    resolution_seconds?: number;
    /**
     * Who shares the limit. Default: key.
     */
    scope?: "key" | "resource";
    /**
     * The time zone of a window of the calendar, by its IANA name, such as
     * Europe/Berlin. Default: UTC.
     */
    time_zone?: string;
    /**
     * A window of the calendar, in place of window_size_seconds.
     */
    window?: "day" | "week" | "month" | "year";
    /**
     * Length of the window.
     */
    window_size_seconds?: number;
};
/**
 * Which requests a rule applies to.
 */
export type Match = {
    /**
     * The address is in one of these networks (CIDR).
     */
    ip_subnet?: string | readonly string[];
    /**
     * The method is one of these.
     */
    methods?: readonly string[];
    /**
     * The path matches: * is any run of characters, {name} is one segment.
     */
    path_pattern?: string;
    /**
     * Each header has this value; * stands for any
     * value.
     */
    required_headers?: Readonly<Record<string, string>>;
    /**
     * The request has a user.
     */
    requires_authentication?: boolean;
};
/**
 * A rule, with the names of fields that rule files have.
 */
export type Rule = {
    /**
     * Name of the rule, unique in its file.
     */
    rule_id: string;
    /**
     * How the limit is kept. Default: gcra.
     */
    algorithm?: "fixed_window" | "sliding_window" | "sliding_log" | "sliding_buckets" | "gcra" | "token_bucket" | "leaky_bucket" | "uniform" | "decay" | "concurrency";
    /**
     * A key that is denied stays denied for some time; {}: only keys that are blocked by
     * hand.
     */
    block?: Block;
    /**
     * The most that is admitted at once. Default: the limit.
     */
    burst?: number;
    /**
     * What a request costs to which the rule applies. Default: 1.
     */
    cost?: number;
    /**
     * Charge denied costs too, by the limits that refused them. Default: false.
     */
    count_denied?: boolean;
    /**
     * Each slot that passes divides the level by this. Default: 2.
     */
    decay_factor?: number;
    /**
     * For people.
     */
    description?: string;
    /**
     * What a call answers that no server can decide.
     * Default: what the limiter's option of that name says.
     */
    fallback?: "error" | "allow" | "deny" | "local";
    /**
     * The limit holds over all regions of the limiter. Default: each region counts by
     * itself.
     */
    global?: Global;
    /**
     * What of a request is the key: user_id, ip_address,
     * api_key, header:<name>, path:<name> or global; or an array of them.
     */
    identifier_type?: string | readonly string[];
    /**
     * How many leading bits of an IPv6 address identify a client. Default: 64.
     */
    ipv6_prefix_length?: number;
    /**
     * A process borrows units of its server ahead of its calls, and decides by them. Default:
     * the server decides each check.
     */
    lease?: Lease;
    /**
     * How long a reservation lives without being renewed. Default: 60.
     */
    lease_seconds?: number;
    /**
     * The cost that may be admitted per window, or be in flight at once.
     */
    limit?: number;
    /**
     * Several limits, decided together, in place of limit and
     * window_size_seconds.
     */
    limits?: readonly Limit[];
    /**
     * Which requests the rule applies to. Default: only by name.
     */
    match?: Match;
    /**
     * The day at which a month of the calendar begins; in a month that lacks it,
     * its last day. Default: 1.
     */
    month_start_day?: number;
    /**
     * Limits of single keys may be stored. Default: false.
     */
    overrides?: boolean;
    /**
     * Lower numbers are decided and reported first. Default: 0.
     */
    priority?: number;
    /**
     * Limit and window in one, in place of limit and window_size_seconds: 5/minute, 100/s,
     * 20/30s.
     */
    rate?: string;
    /**
     * Usage may be reserved, and charged when it is known. Default: false.
     */
    reservations?: boolean;
    /**
     * Length of a slot. Default of sliding_buckets: a sixtieth of the window.
     */
    resolution_seconds?: number;
    /**
     * Which part of a request is the resource.
     */
    resource_identifier_type?: string;
    /**
     * Decide and count, but always admit. Default: false.
     */
    shadow?: boolean;
    /**
     * The Redis type that holds the log. Default: list.
     */
    structure?: "list" | "sorted_set";
    /**
     * The time zone of a window of the calendar, by its IANA name, such as
     * Europe/Berlin. Default: UTC.
     */
    time_zone?: string;
    /**
     * Conditions like those of match, or an array of them: the rule does
     * not apply where one of them holds.
     */
    unless?: Match | readonly Match[];
    /**
     * A window of the calendar, in place of window_size_seconds.
     */
    window?: "day" | "week" | "month" | "year";
    /**
     * Length of the window.
     */
    window_size_seconds?: number;
    /**
     * When windows begin: at the same instant for every key, or
     * at its first request. Default: aligned.
     */
    window_start?: "aligned" | "first_request";
};
export type ConnectOptions = import("./table.js").ConnectOptions;
export type LimiterEvent = import("./events.js").LimiterEvent;
export type Credentials = import("./credentials.js").Credentials;
export type CredentialsProvider = import("./credentials.js").CredentialsProvider;
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
 */
export type ErrorCode = "InvalidRule" | "UnknownRule" | "InvalidArgument" | "Connection" | "Timeout" | "Server" | "Closed";
import { ManualClock } from "./clock.js";
import { RateLimiter } from "./limiter.js";
import { Reservation } from "./reservation.js";
import { SluicegateError } from "./error.js";
import { WrongTypeError } from "./error.js";
import { addressKey } from "./address.js";
import { events } from "./events.js";
import { headers } from "./headers.js";
import type { DecisionFields } from './types.js';
import type { Subject } from './types.js';
import type { Verdict } from './types.js';
export { ManualClock, RateLimiter, Reservation, SluicegateError, WrongTypeError, addressKey, events, headers };
