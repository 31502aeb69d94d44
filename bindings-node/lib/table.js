'use strict';

// The options of `connect`. Made from the table of core: cargo run -p sluicegate-tables.

/** @import { CredentialsProvider, ManualClock, Rule } from './index.js' */

/**
 * Options of a limiter.
 *
 * @typedef {object} ConnectOptions
 * @property {string | readonly Rule[] | { readonly rules: readonly Rule[] }} rules The rules to decide by: an array of
 *   rules, JSON text (what begins with a bracket, a brace or a comment), or a source that is followed while the limiter
 *   runs: the path of a file, or `zookeeper://h1:p1,h2:p2/path`.
 * @property {number | undefined} [connectTimeoutMs] The longest time to open a connection. Default: 1 s.
 * @property {number | undefined} [responseTimeoutMs] The longest time to wait for an answer; then the call ends with
 *   `Timeout`. Where the server asks for the script, the time starts again. Default: 500 ms.
 * @property {number | undefined} [breakerFailures] How many failures in a row without an answer open the circuit
 *   breaker of a server: from then on calls to it fail at once, until it answers again. 0 (in C `UINT32_MAX`): it never
 *   opens. Default: 5.
 * @property {number | undefined} [breakerProbeMs] How often a server is tried while its circuit breaker is open and
 *   calls come. Default: 100 ms.
 * @property {string | undefined} [tlsCa] PEM file with the certificate authorities to trust instead of the system's.
 *   Default: the system's.
 * @property {string | undefined} [tlsCert] PEM file with the certificate chain of this client; goes with `tlsKey`.
 *   Default: none.
 * @property {string | undefined} [tlsKey] PEM file with the private key of this client; goes with `tlsCert`. Default:
 *   none.
 * @property {number | undefined} [replicas] How many replicas are to have a charge before its decision comes, which
 *   then says `replicated`. A failover loses no such charge where these are all the replicas that there are. 0: none is
 *   waited for. Not for `memory://`. Default: 0.
 * @property {number | undefined} [replicaTimeoutMs] The longest time that a batch of calls waits for `replicas`, at
 *   most half of `responseTimeoutMs`: what they have not by then is charged and decided all the same, but not
 *   `replicated`. Default: 5 ms.
 * @property {CredentialsProvider | undefined} [credentials] A function that gives user and password for each new
 *   connection, where these change: tokens of cloud providers, passwords that are rotated. It may take
 *   `connectTimeoutMs`, on a thread of its own. Not together with a login in the URL; Sentinels keep theirs there.
 *   Default: the login of the URL.
 * @property {string | undefined} [prefix] What every key in Redis begins with: 1 to 128 bytes without braces and
 *   control characters. Limiters share their counts when their prefixes and rules are the same. Default: `sluicegate`.
 * @property {string | undefined} [fallback] What a call answers that no server can decide, since none is reached or
 *   answers in time: `error` ends with the error, `allow` admits, `deny` denies, `local` decides in memory by this
 *   process's share of the limits. A rule may say so itself. Default: `error`.
 * @property {number | undefined} [instances] How many processes share the limits while no server decides: each has an
 *   equal part, rounded down. Default: 1.
 * @property {ManualClock | undefined} [clock] A clock that the caller moves, for tests. Default: the server's, or in
 *   memory the system's.
 * @property {string | undefined} [rulesCache] A file in which the last good rules of a followed source are kept. A
 *   limiter that is made while the source is away begins with them. Default: none: then the limiter is not made.
 * @property {string | undefined} [identifierSecret] Hides keys of rules whose `identifier_type` is `api_key` or
 *   `header:<name>` also from who can guess them: they are stored as 128 bits of their HMAC-SHA-256 with this secret,
 *   without one of their SHA-256. 16 to 1024 bytes. Limiters share their counts only with the same one. Default: none.
 * @property {number | undefined} [maxKeys] The most states that `memory://` keeps, one for each key and limit. When
 *   there are more, those nearest to their reset are forgotten first. Default: 1000000.
 * @property {number | undefined} [requestIdSeconds] For how many seconds the answer to a call with a `request_id` is
 *   kept, by the limiter's clock: so long the call may be repeated. Each id takes some 200 bytes in Redis. Default: 60.
 * @property {Readonly<Record<string, string>> | undefined} [regions] The URL of the servers of each region, by its
 *   name, for rules with `global`: they are counted over all regions. The same in every region. The URL of the limiter
 *   is that of its own region, or empty. Default: none: rules with `global` count in this region alone.
 * @property {string | undefined} [region] The name of the region of this limiter, one of `regions`. Default: none.
 * @property {Readonly<Record<string, number>> | undefined} [regionParts] The part of every limit that each region has
 *   while it cannot reach the region in charge of a key, by its name: above 0, and 1 together at most. Each has 1 of a
 *   limit at least. Default: equal parts.
 * @property {number | undefined} [share] The part of every limit that this limiter may use, on the server too: above 0
 *   and 1 at most. A limit is multiplied by it and rounded down; a rule of which less than 1 is left is refused. For
 *   limiters with a Redis each: where their shares add up to 1, they keep the limit together. Default: 1.
 * @property {boolean | undefined} [lazy] Whether an async limiter is made without trying a server: nothing is opened
 *   before the first call, as in blocking limiters, which never try one. So an application starts while Redis is away,
 *   whatever `fallback` says. Default: false.
 * @property {number | undefined} [rememberDenialsMs] How long this process remembers that the server denied a key: so
 *   long it denies the same check again by itself, until the cost fits. A day at most; 0: nothing is remembered. What
 *   another process gives back to the key in between is noticed by then. Not for `memory://`. Default: 0 s.
 * @property {number | undefined} [topDenied] How many of the keys denied most `metrics` tells of each rule,
 *   approximately: ten times as many are counted. 100 at most; 0: none. Default: 0.
 */

/** Of every option its name in core and the kind of its value, by its name here. */
const OPTIONS = {
  connectTimeoutMs: ['connect_timeout', 'number'],
  responseTimeoutMs: ['response_timeout', 'number'],
  breakerFailures: ['breaker_failures', 'number'],
  breakerProbeMs: ['breaker_probe', 'number'],
  tlsCa: ['tls_ca', 'text'],
  tlsCert: ['tls_cert', 'text'],
  tlsKey: ['tls_key', 'text'],
  replicas: ['replicas', 'number'],
  replicaTimeoutMs: ['replica_timeout', 'number'],
  credentials: ['credentials', 'credentials'],
  prefix: ['prefix', 'text'],
  fallback: ['fallback', 'text'],
  instances: ['instances', 'number'],
  clock: ['clock', 'clock'],
  rulesCache: ['rules_cache', 'text'],
  identifierSecret: ['identifier_secret', 'text'],
  maxKeys: ['max_keys', 'number'],
  requestIdSeconds: ['request_id_seconds', 'number'],
  regions: ['regions', 'object'],
  region: ['region', 'text'],
  regionParts: ['region_parts', 'object'],
  share: ['share', 'number'],
  lazy: ['lazy', 'flag'],
  rememberDenialsMs: ['remember_denials', 'number'],
  topDenied: ['top_denied', 'number'],
};

module.exports = { OPTIONS };
