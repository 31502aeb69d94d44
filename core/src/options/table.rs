//! The options of a limiter: name, kind, default, bounds and documentation, which stand nowhere else.
//!
//! `sluicegate-tables` writes what other languages and the documentation say of them. The documentation is that of every
//! language: a name in backticks becomes that of the language, and the default is added.

/// Passes every option to a macro: `documentation, name: kind(of) = default`, in the order in which C has them. What the
/// kinds are, [`kind_of`](super::kinds) says.
macro_rules! limiter_options {
    ($callback:ident) => {
        $callback! {
            /// How connections are made.
            #[derive(Hash)]
            ConnectOptions, connection {
                /// The longest time to open a connection.
                connect_timeout: time(s) = 1;
                /// The longest time to wait for an answer; then the call ends with `Timeout`. Where the server asks for
                /// the script, the time starts again.
                response_timeout: time(ms) = 500;
                /// How many failures in a row without an answer open the circuit breaker of a server: from then on calls
                /// to it fail at once, until it answers again. 0 (in C `UINT32_MAX`): it never opens.
                breaker_failures: count(u32, 0..) = 5;
                /// How often a server is tried while its circuit breaker is open and calls come.
                breaker_probe: time(ms) = 100;
                /// PEM file with the certificate authorities to trust instead of the system's.
                tls_ca: path() = "the system's";
                /// PEM file with the certificate chain of this client; goes with `tls_key`.
                tls_cert: path() = "none";
                /// PEM file with the private key of this client; goes with `tls_cert`.
                tls_key: path() = "none";
                /// How many replicas are to have a charge before its decision comes, which then says `replicated`. A failover
                /// loses no such charge where these are all the replicas that there are. 0: none is waited for. Not for
                /// `memory://`.
                replicas: count(u32, 0..=100) = 0;
                /// The longest time that a batch of calls waits for `replicas`, at most half of `response_timeout`: what they have
                /// not by then is charged and decided all the same, but not `replicated`.
                replica_timeout: time(ms) = 5;
                /// A function that gives user and password for each new connection, where these change: tokens of cloud
                /// providers, passwords that are rotated. It may take `connect_timeout`, on a thread of its own. Not together with
                /// a login in the URL; Sentinels keep theirs there.
                credentials: provider() = "the login of the URL";
            }
            /// What is not about connections.
            LimiterOptions, options {
                /// What every key in Redis begins with: 1 to 128 bytes without braces and control characters. Limiters
                /// share their counts when their prefixes and rules are the same.
                prefix: text() = "sluicegate";
                /// What a call answers that no server can decide, since none is reached or answers in time: `error` ends with
                /// the error, `allow` admits, `deny` denies, `local` decides in memory by this process's share of the
                /// limits. A rule may say so itself.
                fallback: text() = "error";
                /// How many processes share the limits while no server decides: each has an equal part, rounded down.
                instances: count(u32, 1..=1_000_000) = 1;
                /// A clock that the caller moves, for tests.
                clock: clock() = "the server's, or in memory the system's";
                /// A file in which the last good rules of a followed source are kept. A limiter that is made while the
                /// source is away begins with them.
                rules_cache: path() = "none: then the limiter is not made";
                /// Hides keys of rules whose `identifier_type` is `api_key` or `header:<name>` also from who can guess
                /// them: they are stored as 128 bits of their HMAC-SHA-256 with this secret, without one of their SHA-256.
                /// 16 to 1024 bytes. Limiters share their counts only with the same one.
                identifier_secret: secret() = "none";
                /// The most states that `memory://` keeps, one for each key and limit. When there are more, those nearest
                /// to their reset are forgotten first.
                max_keys: optional_count(usize, 1..) = "1000000";
                /// For how many seconds the answer to a call with a `request_id` is kept, by the limiter's clock: so long
                /// the call may be repeated. Each id takes some 200 bytes in Redis.
                request_id_seconds: count(u64, 1..=86_400) = 60;
                /// The URL of the servers of each region, by its name, for rules with `global`: they are counted over all
                /// regions. The same in every region. The URL of the limiter is that of its own region, or empty.
                regions: urls() = "none: rules with `global` count in this region alone";
                /// The name of the region of this limiter, one of `regions`.
                region: name() = "none";
                /// The part of every limit that each region has while it cannot reach the region in charge of a key, by its
                /// name: above 0, and 1 together at most. Each has 1 of a limit at least.
                region_parts: numbers() = "equal parts";
                /// The part of every limit that this limiter may use, on the server too: above 0 and 1 at most. A limit is
                /// multiplied by it and rounded down; a rule of which less than 1 is left is refused. For limiters with a Redis
                /// each: where their shares add up to 1, they keep the limit together.
                share: part() = 1;
                /// Whether an async limiter is made without trying a server: nothing is opened before the first call, as in
                /// blocking limiters, which never try one. So an application starts while Redis is away, whatever `fallback` says.
                lazy: flag() = false;
                /// How long this process remembers that the server denied a key: so long it denies the same check again by
                /// itself, until the cost fits. A day at most; 0: nothing is remembered. What another process gives back to
                /// the key in between is noticed by then. Not for `memory://`.
                remember_denials: age(s) = 0;
                /// How many of the keys denied most `metrics` tells of each rule, approximately: ten times as many are counted. 100
                /// at most; 0: none.
                top_denied: count(u32, 0..=100) = 0;
            }
        }
    };
}
pub(crate) use limiter_options;
