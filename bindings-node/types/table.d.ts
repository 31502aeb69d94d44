/**
 * Options of a limiter.
 */
export type ConnectOptions = {
    /**
     * The rules to decide by: an array of
     * rules, JSON text (what begins with a bracket, a brace or a comment), or a source that is followed while the limiter
     * runs: the path of a file, or `zookeeper://h1:p1,h2:p2/path`.
     */
    rules: string | readonly Rule[] | {
        readonly rules: readonly Rule[];
    };
    /**
     * The longest time to open a connection. Default: 1 s.
     */
    connectTimeoutMs?: number | undefined;
    /**
     * The longest time to wait for an answer; then the call ends with
     * `Timeout`. Where the server asks for the script, the time starts again. Default: 500 ms.
     */
    responseTimeoutMs?: number | undefined;
    /**
     * How many failures in a row without an answer open the circuit
     * breaker of a server: from then on calls to it fail at once, until it answers again. 0 (in C `UINT32_MAX`): it never
     * opens. Default: 5.
     */
    breakerFailures?: number | undefined;
    /**
     * How often a server is tried while its circuit breaker is open and
     * calls come. Default: 100 ms.
     */
    breakerProbeMs?: number | undefined;
    /**
     * PEM file with the certificate authorities to trust instead of the system's.
     * Default: the system's.
     */
    tlsCa?: string | undefined;
    /**
     * PEM file with the certificate chain of this client; goes with `tlsKey`.
     * Default: none.
     */
    tlsCert?: string | undefined;
    /**
     * PEM file with the private key of this client; goes with `tlsCert`. Default:
     * none.
     */
    tlsKey?: string | undefined;
    /**
     * How many replicas are to have a charge before its decision comes, which
     * then says `replicated`. A failover loses no such charge where these are all the replicas that there are. 0: none is
     * waited for. Not for `memory://`. Default: 0.
     */
    replicas?: number | undefined;
    /**
     * The longest time that a batch of calls waits for `replicas`, at
     * most half of `responseTimeoutMs`: what they have not by then is charged and decided all the same, but not
     * `replicated`. Default: 5 ms.
     */
    replicaTimeoutMs?: number | undefined;
    /**
     * A function that gives user and password for each new
     * connection, where these change: tokens of cloud providers, passwords that are rotated. It may take
     * `connectTimeoutMs`, on a thread of its own. Not together with a login in the URL; Sentinels keep theirs there.
     * Default: the login of the URL.
     */
    credentials?: CredentialsProvider | undefined;
    /**
     * What every key in Redis begins with: 1 to 128 bytes without braces and
     * control characters. Limiters share their counts when their prefixes and rules are the same. Default: `sluicegate`.
     */
    prefix?: string | undefined;
    /**
     * What a call answers that no server can decide, since none is reached or
     * answers in time: `error` ends with the error, `allow` admits, `deny` denies, `local` decides in memory by this
     * process's share of the limits. A rule may say so itself. Default: `error`.
     */
    fallback?: string | undefined;
    /**
     * How many processes share the limits while no server decides: each has an
     * equal part, rounded down. Default: 1.
     */
    instances?: number | undefined;
    /**
     * A clock that the caller moves, for tests. Default: the server's, or in
     * memory the system's.
     */
    clock?: ManualClock | undefined;
    /**
     * A file in which the last good rules of a followed source are kept. A
     * limiter that is made while the source is away begins with them. Default: none: then the limiter is not made.
     */
    rulesCache?: string | undefined;
    /**
     * Hides keys of rules whose `identifier_type` is `api_key` or
     * `header:<name>` also from who can guess them: they are stored as 128 bits of their HMAC-SHA-256 with this secret,
     * without one of their SHA-256. 16 to 1024 bytes. Limiters share their counts only with the same one. Default: none.
     */
    identifierSecret?: string | undefined;
    /**
     * The most states that `memory://` keeps, one for each key and limit. When
     * there are more, those nearest to their reset are forgotten first. Default: 1000000.
     */
    maxKeys?: number | undefined;
    /**
     * For how many seconds the answer to a call with a `request_id` is
     * kept, by the limiter's clock: so long the call may be repeated. Each id takes some 200 bytes in Redis. Default: 60.
     */
    requestIdSeconds?: number | undefined;
    /**
     * The URL of the servers of each region, by its
     * name, for rules with `global`: they are counted over all regions. The same in every region. The URL of the limiter
     * is that of its own region, or empty. Default: none: rules with `global` count in this region alone.
     */
    regions?: Readonly<Record<string, string>> | undefined;
    /**
     * The name of the region of this limiter, one of `regions`. Default: none.
     */
    region?: string | undefined;
    /**
     * The part of every limit that each region has
     * while it cannot reach the region in charge of a key, by its name: above 0, and 1 together at most. Each has 1 of a
     * limit at least. Default: equal parts.
     */
    regionParts?: Readonly<Record<string, number>> | undefined;
    /**
     * The part of every limit that this limiter may use, on the server too: above 0
     * and 1 at most. A limit is multiplied by it and rounded down; a rule of which less than 1 is left is refused. For
     * limiters with a Redis each: where their shares add up to 1, they keep the limit together. Default: 1.
     */
    share?: number | undefined;
    /**
     * Whether an async limiter is made without trying a server: nothing is opened
     * before the first call, as in blocking limiters, which never try one. So an application starts while Redis is away,
     * whatever `fallback` says. Default: false.
     */
    lazy?: boolean | undefined;
    /**
     * How long this process remembers that the server denied a key: so
     * long it denies the same check again by itself, until the cost fits. A day at most; 0: nothing is remembered. What
     * another process gives back to the key in between is noticed by then. Not for `memory://`. Default: 0 s.
     */
    rememberDenialsMs?: number | undefined;
    /**
     * How many of the keys denied most `metrics` tells of each rule,
     * approximately: ten times as many are counted. 100 at most; 0: none. Default: 0.
     */
    topDenied?: number | undefined;
};
export namespace OPTIONS {
    let connectTimeoutMs: string[];
    let responseTimeoutMs: string[];
    let breakerFailures: string[];
    let breakerProbeMs: string[];
    let tlsCa: string[];
    let tlsCert: string[];
    let tlsKey: string[];
    let replicas: string[];
    let replicaTimeoutMs: string[];
    let credentials: string[];
    let prefix: string[];
    let fallback: string[];
    let instances: string[];
    let clock: string[];
    let rulesCache: string[];
    let identifierSecret: string[];
    let maxKeys: string[];
    let requestIdSeconds: string[];
    let regions: string[];
    let region: string[];
    let regionParts: string[];
    let share: string[];
    let lazy: string[];
    let rememberDenialsMs: string[];
    let topDenied: string[];
}
import type { Rule } from './index.js';
import type { CredentialsProvider } from './index.js';
import type { ManualClock } from './index.js';
