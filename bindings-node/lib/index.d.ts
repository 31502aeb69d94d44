/**
 * One rate limiter for a fleet: it decides atomically inside Redis, or inside the process, by one set of
 * rules.
 */

/** Whether a cost is admitted. A denial is a decision too, never an error. */
export interface Decision {
  /** Whether the cost was, or for a peek would be, admitted. Always true for a rule in shadow. */
  readonly allowed: boolean;
  /** The rule that decided: when denied, the one that makes the caller wait the longest. */
  readonly rule: string;
  /** The most that the deciding limit admits at once from a key never seen, in units of cost. */
  readonly limit: number;
  /** The most cost that would still be admitted now. */
  readonly remaining: number;
  /**
   * The shortest wait after which the same cost would be admitted if nobody else came, exact to the
   * microsecond. 0 when it fits, `Infinity` when it never can.
   */
  readonly retryAfterMs: number;
  /** Time until the key is as if never seen. */
  readonly resetAfterMs: number;
  /** True when a rule in shadow would have denied. */
  readonly shadowDenied: boolean;
  /** Who decided: a Redis server, or the engine inside this process. */
  readonly source: 'server' | 'embedded';
  /** One decision per item of a `checkAll`, in order; empty otherwise. */
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
   * comment), or the path of a file. Default: none.
   */
  rules?: string | readonly Rule[] | { readonly rules: readonly Rule[] } | undefined;
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
 * Whatever is wrong rejects the promise, and nothing is thrown: a `TypeError` for an argument of the wrong
 * type, else a `SluicegateError`. While a call is pending the process stays alive; a limiter at rest does
 * not keep it.
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
