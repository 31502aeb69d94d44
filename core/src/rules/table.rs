//! Every field that rules have: the one list that the reader knows fields by and the schema is made of.
//!
//! A new field is a line here, and the code that reads it.

use super::json::MAX_WHOLE;

/// A larger factor would be the longest block at once.
pub(super) const MAX_FACTOR: f64 = 1e6;
/// The last day that a month can have.
pub(super) const LAST_DAY: i64 = 31;

/// A field of an object.
#[cfg_attr(not(test), expect(dead_code, reason = "what only the schema says of it"))]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: FieldKind,
    /// What it means: for the schema, and so for editors.
    pub(super) about: &'static str,
    /// The algorithms that have it; empty: all.
    pub(super) algorithms: &'static [&'static str],
    pub(super) is_required: bool,
}

/// What a field holds, as far as that does not depend on other fields.
#[cfg_attr(not(test), expect(dead_code, reason = "what only the schema says of it"))]
pub(super) enum FieldKind {
    Text,
    Flag,
    RuleId,
    Algorithm,
    Rate,
    Identifier,
    /// An identifier, or an array of them.
    Identifiers,
    PathPattern,
    Methods,
    Headers,
    Networks,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A whole number from the one to the other.
    Whole(i64, i64),
    /// A number from the one to the other, if there is another.
    Number(f64, Option<f64>),
    Object(&'static [Field]),
    /// Conditions, of which there is at least one, or an array of them.
    Exemptions(&'static [Field]),
    /// An array of at least one object.
    Objects(&'static [Field]),
    /// The rules of a file.
    Rules,
}

const GCRA: &[&str] = &["gcra", "token_bucket", "leaky_bucket"];
const WINDOWS: &[&str] = &[
    "fixed_window",
    "sliding_window",
    "sliding_log",
    "sliding_buckets",
    "gcra",
    "token_bucket",
    "leaky_bucket",
    "uniform",
];
/// Those whose usage may be reserved; `concurrency` has nothing else.
const RATES: &[&str] = &[
    "fixed_window",
    "sliding_window",
    "sliding_log",
    "sliding_buckets",
    "gcra",
    "token_bucket",
    "leaky_bucket",
    "uniform",
    "decay",
];
/// Those that may hold over regions.
const GLOBALS: &[&str] = &["fixed_window", "gcra", "token_bucket", "leaky_bucket", "uniform"];
/// Those of which a process may borrow.
const LEASES: &[&str] = &["fixed_window", "gcra", "token_bucket", "leaky_bucket"];
/// A minute.
pub(super) const MAX_AGE_MS: f64 = 60_000.0;
const SLOTS: &[&str] = &["sliding_buckets", "decay"];
const COUNTS: &[&str] = &["fixed_window", "sliding_window", "sliding_buckets", "decay"];
const TEN_YEARS: f64 = 315_360_000.0;
/// A smaller factor would need more than half a million slots to forget a level.
pub(super) const MIN_DECAY_FACTOR: f64 = 1.0001;

const LIMIT_FIELD: Field = field(
    "limit",
    FieldKind::Number(1.0, Some(MAX_WHOLE as f64)),
    "The cost that may be admitted per window, or be in flight at once.",
);
const WINDOW: Field =
    field("window_size_seconds", FieldKind::Number(0.001, Some(TEN_YEARS)), "Length of the window.");
const CALENDAR: Field = field(
    "window",
    FieldKind::Word(&["day", "week", "month", "year"]),
    "A window of the calendar, in place of window_size_seconds.",
)
.only(&["fixed_window"]);
const TIME_ZONE: Field = field(
    "time_zone",
    FieldKind::Text,
    "The time zone of a window of the calendar, by its IANA name, such as Europe/Berlin. Default: UTC.",
)
.only(&["fixed_window"]);
const MONTH_START_DAY: Field = field(
    "month_start_day",
    FieldKind::Whole(1, LAST_DAY),
    "The day at which a month of the calendar begins; in a month that lacks it, its last day. Default: 1.",
)
.only(&["fixed_window"]);
const RATE: Field = field(
    "rate",
    FieldKind::Rate,
    "Limit and window in one, in place of limit and window_size_seconds: 5/minute, 100/s, 20/30s.",
)
.only(WINDOWS);
const RESOLUTION: Field = field(
    "resolution_seconds",
    FieldKind::Number(0.000_001, Some(TEN_YEARS)),
    "Length of a slot. Default of sliding_buckets: a sixtieth of the window.",
)
.only(SLOTS);

/// A rule.
pub(super) const RULE: &[Field] = &[
    field("rule_id", FieldKind::RuleId, "Name of the rule, unique in its file.").required(),
    field("description", FieldKind::Text, "For people."),
    field(
        "identifier_type",
        FieldKind::Identifiers,
        "What of a request is the key: user_id, ip_address, api_key, header:<name>, path:<name> or global; or an array of them.",
    ),
    field("algorithm", FieldKind::Algorithm, "How the limit is kept. Default: gcra."),
    LIMIT_FIELD,
    WINDOW,
    RATE,
    CALENDAR,
    TIME_ZONE,
    MONTH_START_DAY,
    field(
        "limits",
        FieldKind::Objects(LIMIT),
        "Several limits, decided together, in place of limit and window_size_seconds.",
    ),
    field("burst", FieldKind::Whole(1, MAX_WHOLE), "The most that is admitted at once. Default: the limit.")
        .only(GCRA),
    RESOLUTION,
    field(
        "decay_factor",
        FieldKind::Number(MIN_DECAY_FACTOR, None),
        "Each slot that passes divides the level by this. Default: 2.",
    )
    .only(&["decay"]),
    field(
        "window_start",
        FieldKind::Word(&["aligned", "first_request"]),
        "When windows begin: at the same instant for every key, or at its first request. Default: aligned.",
    )
    .only(&["fixed_window"]),
    field(
        "structure",
        FieldKind::Word(&["list", "sorted_set"]),
        "The Redis type that holds the log. Default: list.",
    )
    .only(&["sliding_log"]),
    field(
        "count_denied",
        FieldKind::Flag,
        "Charge denied costs too, by the limits that refused them. Default: false.",
    )
    .only(COUNTS),
    field(
        "reservations",
        FieldKind::Flag,
        "Usage may be reserved, and charged when it is known. Default: false.",
    )
    .only(RATES),
    field(
        "lease_seconds",
        FieldKind::Number(0.001, Some(TEN_YEARS)),
        "How long a reservation lives without being renewed. Default: 60.",
    ),
    field(
        "block",
        FieldKind::Object(BLOCK),
        "A key that is denied stays denied for some time; {}: only keys that are blocked by hand.",
    ),
    field("overrides", FieldKind::Flag, "Limits of single keys may be stored. Default: false."),
    field("shadow", FieldKind::Flag, "Decide and count, but always admit. Default: false."),
    field(
        "fallback",
        FieldKind::Word(&["error", "allow", "deny", "local"]),
        "What a call answers that no server can decide. Default: what the limiter's option of that name says.",
    ),
    field(
        "global",
        FieldKind::Object(GLOBAL),
        "The limit holds over all regions of the limiter. Default: each region counts by itself.",
    )
    .only(GLOBALS),
    field(
        "lease",
        FieldKind::Object(LEASE),
        "A process borrows units of its server ahead of its calls, and decides by them. Default: the server decides each check.",
    )
    .only(LEASES),
    field("match", FieldKind::Object(MATCH), "Which requests the rule applies to. Default: only by name."),
    field(
        "unless",
        FieldKind::Exemptions(MATCH),
        "Conditions like those of match, or an array of them: the rule does not apply where one of them holds.",
    ),
    field(
        "cost",
        FieldKind::Whole(1, MAX_WHOLE),
        "What a request costs to which the rule applies. Default: 1.",
    ),
    field(
        "priority",
        FieldKind::Whole(-MAX_WHOLE, MAX_WHOLE),
        "Lower numbers are decided and reported first. Default: 0.",
    ),
    field("resource_identifier_type", FieldKind::Identifier, "Which part of a request is the resource."),
    field(
        "ipv6_prefix_length",
        FieldKind::Whole(1, 128),
        "How many leading bits of an IPv6 address identify a client. Default: 64.",
    ),
];

/// An entry of `limits`.
pub(super) const LIMIT: &[Field] = &[
    LIMIT_FIELD,
    WINDOW,
    RATE,
    CALENDAR,
    TIME_ZONE,
    MONTH_START_DAY,
    RESOLUTION,
    field("scope", FieldKind::Word(&["key", "resource"]), "Who shares the limit. Default: key."),
];

/// The fields of `block`.
pub(super) const BLOCK: &[Field] = &[
    field(
        "seconds",
        FieldKind::Number(0.001, Some(TEN_YEARS)),
        "How long a key is blocked that was denied. Default: keys are blocked by hand alone.",
    ),
    field(
        "factor",
        FieldKind::Number(1.0, Some(MAX_FACTOR)),
        "A block that begins within max_seconds after the last one is so many times longer. Default: 1.",
    ),
    field(
        "max_seconds",
        FieldKind::Number(0.001, Some(TEN_YEARS)),
        "The longest block. Default: 10 times seconds.",
    ),
];

/// The fields of `global`.
pub(super) const GLOBAL: &[Field] = &[field(
    "max_age_ms",
    FieldKind::Number(1.0, Some(MAX_AGE_MS)),
    "How long what is lent to another region may be used, and a denial be remembered there. Default: 2000, or the window.",
)];

/// The fields of `lease`.
pub(super) const LEASE: &[Field] = &[
    field(
        "max_age_ms",
        FieldKind::Number(1.0, Some(MAX_AGE_MS)),
        "How long borrowed units may be spent; the window at most. Default: 20, or the window.",
    ),
    field(
        "pace_ms",
        FieldKind::Number(1.0, Some(MAX_AGE_MS)),
        "How much time lies between two requests for units of one key; max_age_ms at most. Default: half of max_age_ms.",
    ),
];

/// The conditions of `match`.
pub(super) const MATCH: &[Field] = &[
    field(
        "path_pattern",
        FieldKind::PathPattern,
        "The path matches: * is any run of characters, {name} is one segment.",
    ),
    field("methods", FieldKind::Methods, "The method is one of these."),
    field("requires_authentication", FieldKind::Flag, "The request has a user."),
    field("required_headers", FieldKind::Headers, "Each header has this value; * stands for any value."),
    field("ip_subnet", FieldKind::Networks, "The address is in one of these networks (CIDR)."),
];

/// A file that is an object.
pub(super) const FILE: &[Field] = &[
    field("rules", FieldKind::Rules, "The rules.").required(),
    field("$schema", FieldKind::Text, "Where editors find the schema; not used otherwise."),
];

const fn field(name: &'static str, kind: FieldKind, about: &'static str) -> Field {
    Field { name, kind, about, algorithms: &[], is_required: false }
}

impl Field {
    const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }

    const fn only(self, algorithms: &'static [&'static str]) -> Self {
        Self { algorithms, ..self }
    }
}

/// Where a field belongs that a rule has, but not at its top.
pub(super) fn place_inside(name: &str) -> Option<&'static str> {
    let is_in = |fields: &[Field]| fields.iter().any(|field| field.name == name);
    match name {
        _ if is_in(RULE) => None,
        _ if is_in(LIMIT) => Some("an entry of \"limits\""),
        _ if is_in(MATCH) => Some("\"match\""),
        _ if is_in(BLOCK) => Some("\"block\""),
        "max_age_ms" => Some("\"global\" or \"lease\""),
        _ if is_in(LEASE) => Some("\"lease\""),
        _ if is_in(GLOBAL) => Some("\"global\""),
        _ => None,
    }
}
