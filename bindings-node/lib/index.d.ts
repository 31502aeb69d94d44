/**
 * One rate limiter for a fleet: it decides atomically inside Redis, or inside the process, by one set of
 * rules.
 */

/** Whether a cost is admitted. A denial is a decision too, never an error. */
export interface Decision {
  /** Whether the cost was, or for a peek would be, admitted. Always true for a rule in shadow. */
  readonly allowed: boolean;
  /**
   * The rule that decided: when denied, the one that makes the caller wait the longest. Empty when none
   * applied.
   */
  readonly rule: string;
  /**
   * Whether any rule applied. Only a request can find that none does; then it is admitted, and `limit` and
   * `remaining` are 2^53 - 1.
   */
  readonly ruleApplied: boolean;
  /** The most that the deciding limit admits at once from a key never seen, in units of cost. */
  readonly limit: number;
  /** The time in which `limit` is admitted anew, over and over; 0 for `decay`, which has no window. */
  readonly windowMs: number;
  /** The most cost that would still be admitted now. */
  readonly remaining: number;
  /**
   * The shortest wait after which the same cost would be admitted if nobody else came, exact to the
   * microsecond. 0 when it fits, `Infinity` when it never can.
   */
  readonly retryAfterMs: number;
  /** Time until the key is as if never seen. */
  readonly resetAfterMs: number;
  /** Whether nothing but rules in shadow decided. */
  readonly shadow: boolean;
  /** True when a rule in shadow would have denied. */
  readonly shadowDenied: boolean;
  /** Who decided: a Redis server, or the engine inside this process. */
  readonly source: 'server' | 'embedded';
  /** One decision per item of a `checkAll`, or rule of a `checkRequest`, in order; empty otherwise. */
  readonly parts: readonly Decision[];
}

/** Options of one check. */
export interface CheckOptions {
  /** How much to admit: a whole number, at least 1, which is the default. */
  cost?: number | undefined;
  /** The resource that is used; needed by rules with a limit of scope `resource`, and only by them. */
  resource?: string | undefined;
  /** Takes the place of the rule's single limit for this one call, for plans and tiers. */
  limit?: number | undefined;
}

/** Options of a reset. */
export type ResetOptions = Pick<CheckOptions, 'resource'>;

/** Options of a wait. */
export interface WaitOptions extends CheckOptions {
  /** The longest time to wait; `Infinity`: for ever. */
  timeoutMs: number;
  /** Gives up the wait, whose promise is then rejected with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** One item of a `checkAll`. */
export interface Check extends CheckOptions {
  /** The rule's name. */
  rule: string;
  /** Who is counted; not empty. */
  key: string;
}

/** A request, from which the rules that apply to it and their keys are found. An empty text is as good as none. */
export interface HttpRequest {
  /** The method; capitals do not count. */
  method: string;
  /**
   * The target as the request line has it: percent-encoded, with or without a query. What was decoded already
   * has to be encoded again.
   */
  path: string;
  /** The user, once authenticated. */
  userId?: string | null | undefined;
  /** The client's address, IPv4 or IPv6, without a port. */
  ip?: string | null | undefined;
  /** The client's API key. */
  apiKey?: string | null | undefined;
  /** The headers, as Node has them, or `Headers`, or pairs of a name and a value. */
  headers?:
    | Readonly<Record<string, string | readonly string[] | undefined>>
    | Iterable<readonly [string, string]>
    | undefined;
}

/** A rule that applies to a request. */
export interface RequestMatch {
  /** The rule's name. */
  ruleId: string;
  /** Who is counted. */
  key: string;
  /** The resource that is used, for a rule that limits one. */
  resource?: string;
}

/** What a rule has to do with a request. */
export interface Explanation extends Partial<RequestMatch> {
  ruleId: string;
  /** Whether the rule applies. */
  matched: boolean;
  /** The first condition that does not hold, beginning with the field that states it. */
  reason: string;
}

/** Which rules are in force, since when, and what was refused. */
export interface RulesStatus {
  /** Where the rules come from, without passwords; `fixed` for rules that never change. */
  source: string;
  /** Tells the rules in force from others. */
  version: string;
  /** How many rules are in force. */
  rules: number;
  /** When the rules in force were loaded. */
  loadedAt: Date;
  /** How often rules took effect, those of the start included. */
  updates: number;
  /** How many updates were refused since the start. */
  refusals: number;
  /** What is refused at present: a rule, or the source where that is updated as a whole, and why. */
  refused: { unit: string; reason: string }[];
  /** Whether the source could be read the last time. Changes go unnoticed as long as it cannot. */
  reachable: boolean;
  /** Whether the rules are the copy of the cache, as the source could not be read yet. */
  cached: boolean;
  /** What last went wrong, even if it is well again. */
  lastError?: string;
}

/**
 * The headers in which a client is told of limits: `RateLimit-Policy` and `RateLimit`, as
 * draft-ietf-httpapi-ratelimit-headers-10 has them, or `X-RateLimit-Limit`, `-Remaining` and `-Reset`.
 */
export type HeaderStyle = 'ietf' | 'x-ratelimit';

/**
 * The headers of the answer to the request that was decided on, names and values, with `Retry-After` on a denial
 * unless the cost can never fit. Rules in shadow are not mentioned, and without a rule that applied there are no
 * headers.
 */
export function headers(decision: Decision, style?: HeaderStyle): Record<string, string>;

/** How many may be admitted per window. */
export interface Limit {
  limit: number;
  window_size_seconds?: number;
  resolution_seconds?: number;
  scope?: 'key' | 'resource';
}

/** Which requests a rule applies to. */
export interface Match {
  path_pattern?: string;
  methods?: readonly string[];
  requires_authentication?: boolean;
  required_headers?: Readonly<Record<string, string>>;
  ip_subnet?: string | readonly string[];
}

/** A rule, with the names of fields that rule files have. */
export interface Rule {
  rule_id: string;
  algorithm:
    | 'fixed_window'
    | 'sliding_window'
    | 'sliding_log'
    | 'sliding_buckets'
    | 'gcra'
    | 'token_bucket'
    | 'leaky_bucket'
    | 'uniform'
    | 'decay';
  limit?: number;
  window_size_seconds?: number;
  limits?: readonly Limit[];
  burst?: number;
  resolution_seconds?: number;
  decay_factor?: number;
  window_start?: 'aligned' | 'first_request';
  structure?: 'list' | 'sorted_set';
  count_denied?: boolean;
  shadow?: boolean;
  priority?: number;
  description?: string;
  identifier_type?: string;
  resource_identifier_type?: string;
  ipv6_prefix_length?: number;
  match?: Match;
}

/** Options of a limiter. */
export interface ConnectOptions {
  /**
   * The rules to decide by: an array of rules, JSON text (what begins with a bracket, a brace or a
   * comment), or a source that is followed while the limiter runs: the path of a file, or
   * `zookeeper://h1:p1,h2:p2/path`. Default: none.
   */
  rules?: string | readonly Rule[] | { readonly rules: readonly Rule[] } | undefined;
  /**
   * A file in which the last good rules of a followed source are kept. A limiter that is made while the
   * source is away begins with them. Default: none; then `connect` is rejected.
   */
  rulesCache?: string | undefined;
  /** What every name in Redis begins with: 1 to 128 bytes without braces. Default: `sluicegate`. */
  prefix?: string | undefined;
  /** A clock that the caller moves, instead of the server's (or, embedded, the system's). */
  clock?: ManualClock | undefined;
  /** The longest time to open a connection. Default: 1000. */
  connectTimeoutMs?: number | undefined;
  /** The longest time to wait for an answer; then the call is rejected with `Timeout`. Default: 500. */
  responseTimeoutMs?: number | undefined;
  /** PEM file with the certificate authorities to trust instead of the system's. */
  tlsCa?: string | undefined;
  /** PEM file with the certificate chain of this client. */
  tlsCert?: string | undefined;
  /** PEM file with the private key of that certificate. */
  tlsKey?: string | undefined;
}

/**
 * Decides whether a cost is admitted.
 *
 * Whatever is wrong rejects the promise: a `TypeError` for an argument of the wrong type, else a
 * `SluicegateError`. `matchRequest` and `rulesStatus` answer at once, and throw. While a call is pending the
 * process stays alive; a limiter at rest does not keep it.
 */
export class RateLimiter implements AsyncDisposable {
  private constructor();

  /**
   * Connects a limiter to the backend that `url` names: `memory://`, `redis://`, `rediss://`, `unix://`,
   * `redis-cluster://h1:p1,h2:p2` or `redis-sentinel://h1:p1,h2:p2/service`.
   */
  static connect(url: string, options?: ConnectOptions): Promise<RateLimiter>;

  /** Admits a cost for `key` under `rule`, or denies it. */
  check(rule: string, key: string, options?: CheckOptions): Promise<Decision>;

  /**
   * Decides several checks together: all of them are charged, or none is. The decision is that of the
   * deciding check, and its `parts` hold one per item.
   *
   * On a Redis Cluster, items in different hash slots are charged slot by slot in order of rule priority,
   * and a denial refunds those before it: in between a third caller may be denied needlessly, and never
   * admitted wrongly.
   */
  checkAll(items: readonly Check[]): Promise<Decision>;

  /**
   * Decides a request by all the rules that match it, together, as `checkAll` does: `parts` holds one decision per
   * rule, in order of priority. A request that no rule matches is admitted, and `ruleApplied` says so.
   */
  checkRequest(request: HttpRequest): Promise<Decision>;

  /**
   * The rules that `checkRequest` would apply, in order of priority; or, to `explain`, all rules, and why each
   * applies or not. Nothing is counted.
   */
  matchRequest(request: HttpRequest, options?: { explain?: false | undefined }): RequestMatch[];
  matchRequest(request: HttpRequest, options: { explain: true }): Explanation[];
  matchRequest(request: HttpRequest, options: { explain: boolean }): RequestMatch[] | Explanation[];

  /** Which rules are in force, since when, and what was refused of their source. */
  rulesStatus(): RulesStatus;

  /** What `check` would answer now; changes nothing. */
  peek(rule: string, key: string, options?: CheckOptions): Promise<Decision>;

  /** Gives back a cost that turned out not to be used, the newest first, and answers as `peek` would then. */
  refund(rule: string, key: string, options?: CheckOptions): Promise<Decision>;

  /**
   * Forgets what was counted for `key` under `rule`, and nothing else. What a resource was used in all is
   * kept, since other keys have a part in it; a rule that counts nothing else forgets that.
   */
  reset(rule: string, key: string, options?: ResetOptions): Promise<void>;

  /**
   * Checks until the cost is admitted, sleeping for `retryAfterMs` in between. The last decision is
   * returned: a denial as soon as it is known that the wait would go beyond the timeout. With a
   * `ManualClock` nothing sleeps; the clock is moved on instead.
   */
  wait(rule: string, key: string, options: WaitOptions): Promise<Decision>;

  /** Tries the server. */
  ping(): Promise<void>;

  /** Closes the connections. Final: later calls are rejected with `Closed`. */
  close(): Promise<void>;

  /** As `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * A clock that stands still until it is told to move, for testing an application's limits without waiting.
 * With it a limiter on Redis passes the time to its scripts.
 */
export class ManualClock {
  /** A clock that shows `nowUs` microseconds since 1970. Default: 0. */
  constructor(nowUs?: number);

  /** What the clock shows, in microseconds since 1970. */
  get nowUs(): number;

  /** Moves the clock forward; it stops at 2^53 microseconds. */
  advance(ms: number): void;

  /** Sets the clock, also backwards. */
  set(nowUs: number): void;
}

/** What went wrong. */
export type ErrorCode =
  /** A rule, or a file of rules, is not valid. */
  | 'InvalidRule'
  /** No rule has the name that was asked for. */
  | 'UnknownRule'
  /** A key, cost, resource, option or URL is not acceptable. */
  | 'InvalidArgument'
  /** The server cannot be reached, or the connection broke. */
  | 'Connection'
  /** The server did not answer in time. Whether the cost was charged is not known. */
  | 'Timeout'
  /** The server answered with an error. */
  | 'Server'
  /** The limiter was closed. */
  | 'Closed';

/** An error of the limiter. */
export class SluicegateError extends Error {
  private constructor();
  readonly name: 'SluicegateError';
  readonly code: ErrorCode;
  /** Whether the same call may succeed later. After a `Timeout` the first call may have been charged. */
  readonly retryable: boolean;
}
