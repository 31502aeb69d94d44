//! A rule as its file states it, already validated: what the rest of the library relies on.

use std::collections::BTreeMap;

use super::fallback::Fallback;
use super::id::RuleId;

/// A named policy: an algorithm and one or more limits.
///
/// Made by [`Rules`](crate::Rules) from JSON, so every `Rule` that exists is valid.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Rule {
    /// Name, unique in its set: 1 to 128 of `A-Z a-z 0-9 _ . : / -`.
    pub id: RuleId,
    /// For people; may be empty.
    pub description: String,
    /// Where a request's key is taken from.
    pub identifier_type: Option<Identifier>,
    /// Where a request's resource is taken from.
    pub resource_identifier_type: Option<Identifier>,
    /// How the limits are kept, with the options that belong to that algorithm.
    pub algorithm: Algorithm,
    /// At least one.
    pub limits: Vec<Limit>,
    /// A denied cost is charged too, by the limits that refused it.
    pub count_denied: bool,
    /// How long a reservation lives without being renewed, in microseconds; `None`: the rule has no reservations.
    pub lease_us: Option<u64>,
    /// How keys are blocked; `None`: they are not.
    pub block: Option<Block>,
    /// Limits of single keys may be stored.
    pub overrides: bool,
    /// The limit holds over all regions: how long another region may use what the one in charge of a key lends it, in
    /// microseconds. `None`: each region counts by itself.
    pub global_us: Option<u64>,
    /// How a process borrows units of its server ahead of its calls; `None`: the server decides each check.
    pub lease: Option<LeaseTerms>,
    /// Decide and count, but always admit.
    pub shadow: bool,
    /// What a call answers that no server can decide; `None`: what the limiter's option of that name says.
    pub fallback: Option<Fallback>,
    /// Lower is decided and reported first.
    pub priority: i64,
    /// How many leading bits of an IPv6 address identify its owner. 1 to 128, default 64.
    pub ipv6_prefix_length: u8,
    /// Which requests the rule applies to; `None`: only when asked for by name.
    pub matches: Option<Match>,
    /// Requests to which the rule does not apply although they match: those for which one of these holds.
    pub unless: Vec<Match>,
    /// What a request costs to which the rule applies; at least 1.
    pub cost: u64,
}

/// An algorithm and its own options.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Algorithm {
    /// Counts per window.
    FixedWindow {
        /// When windows begin.
        window_start: WindowStart,
    },
    /// Two windows, the former weighted by how much of it is still in view.
    SlidingWindow,
    /// The time of every admitted unit.
    SlidingLog {
        /// The Redis type that holds the log.
        structure: Structure,
    },
    /// Counts per slot of the window.
    SlidingBuckets,
    /// Generic cell rate algorithm.
    Gcra {
        /// The name the rule used: `gcra`, `token_bucket`, `leaky_bucket` or `uniform`.
        name: GcraName,
        /// The most that is admitted at once; `None`: as much as the limit. 1 for `uniform`.
        burst: Option<u64>,
    },
    /// A level that fades by a factor in every slot.
    Decay {
        /// By how much each slot that passes divides the level; at least 1.0001, default 2.
        factor: f64,
    },
    /// How much is in flight at once: held by reservations until they end, or their lease does.
    Concurrency,
}

impl Algorithm {
    /// The name that rules use: `"gcra"`, `"sliding_log"`, ...
    pub fn name(self) -> &'static str {
        match self {
            Self::FixedWindow { .. } => "fixed_window",
            Self::SlidingWindow => "sliding_window",
            Self::SlidingLog { .. } => "sliding_log",
            Self::SlidingBuckets => "sliding_buckets",
            Self::Gcra { name: GcraName::Gcra, .. } => "gcra",
            Self::Gcra { name: GcraName::TokenBucket, .. } => "token_bucket",
            Self::Gcra { name: GcraName::LeakyBucket, .. } => "leaky_bucket",
            Self::Gcra { name: GcraName::Uniform, .. } => "uniform",
            Self::Decay { .. } => "decay",
            Self::Concurrency => "concurrency",
        }
    }
}

/// When the windows of `fixed_window` begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WindowStart {
    /// At multiples of the window since 1970: the same instant for every key.
    #[default]
    Aligned,
    /// At the first counted check of each key.
    FirstRequest,
}

/// The Redis type that holds a `sliding_log`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Structure {
    /// Newest first; smallest.
    #[default]
    List,
    /// Scored by time.
    SortedSet,
}

/// The names one arithmetic goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GcraName {
    /// `gcra`
    Gcra,
    /// `token_bucket`: capacity is the burst, refill is limit per window.
    TokenBucket,
    /// `leaky_bucket`
    LeakyBucket,
    /// `uniform`: burst 1.
    Uniform,
}

/// How much cost may be admitted per window.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Limit {
    /// From 1 to 2^53 - 1 (`sliding_log`: 100,000); whole for every algorithm but `decay`.
    pub limit: f64,
    /// Microseconds, from a millisecond to ten years; 0 for `decay` and `concurrency`, which have no window. Of a window
    /// of the calendar how long one is about: 24 hours, 7, 30 or 365 days.
    pub window_us: u64,
    /// Microseconds per slot, for `sliding_buckets` (at most 4,096 slots to a window; default 60) and
    /// `decay` (such that any level fades within 2^53 microseconds); 0 otherwise.
    pub resolution_us: u64,
    /// Who is counted.
    pub scope: Scope,
    /// The window, where it is one of the calendar: for `fixed_window` alone.
    pub calendar: Option<CalendarWindow>,
}

/// A window of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CalendarWindow {
    /// How long it is.
    pub unit: CalendarUnit,
    /// The time zone whose midnights count, by its name in the IANA database.
    pub time_zone: &'static str,
    /// The day at which months begin, from 1 to 31; in a month that lacks it, its last day.
    pub month_start_day: u8,
}

/// How long a window of the calendar is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CalendarUnit {
    /// From midnight to midnight: 23, 24 or 25 hours.
    Day,
    /// From Monday to Sunday.
    Week,
    /// From the first, or another day, to the day before in the next month.
    Month,
    /// From 1 January to 31 December.
    Year,
}

impl CalendarUnit {
    /// The word that rules use: `"day"`, `"week"`, `"month"` or `"year"`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Year => "year",
        }
    }

    /// How long it is, or about how long, in microseconds.
    pub(crate) fn length_us(self) -> u64 {
        const DAY_US: u64 = 24 * 3600 * 1_000_000;
        match self {
            Self::Day => DAY_US,
            Self::Week => 7 * DAY_US,
            Self::Month => 30 * DAY_US,
            Self::Year => 365 * DAY_US,
        }
    }
}

/// Whether a limit counts per key or per resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scope {
    /// Each key for itself (with a resource: each key on each resource).
    #[default]
    Key,
    /// All keys of a resource together.
    Resource,
}

/// How keys of a rule are blocked.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Block {
    /// How long a block lasts that begins with a denial, in microseconds; `None`: blocks begin by hand alone.
    pub length_us: Option<u64>,
    /// A block that begins soon after the last one is so many times longer; at least 1.
    pub factor: f64,
    /// The longest block that begins with a denial, in microseconds. So long after its end a block is remembered.
    pub max_us: u64,
}

/// How a process borrows units of its server ahead of its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeaseTerms {
    /// How long borrowed units may be spent, in microseconds; not longer than the window.
    pub max_age_us: u64,
    /// How much time lies between two requests for units of one key, in microseconds.
    pub pace_us: u64,
}

/// Where in a request a key or a resource is found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Identifier {
    /// The authenticated user.
    UserId,
    /// The client's address.
    IpAddress,
    /// The API key.
    ApiKey,
    /// The value of a header; the name is lower case.
    Header(String),
    /// A named segment of the path pattern.
    Path(String),
    /// One key for everybody.
    Global,
    /// Several of these, joined as a [`CompositeKey`](crate::CompositeKey) is.
    Composite(Vec<Identifier>),
}

/// Which requests a rule applies to. Every condition that is present has to hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Match {
    /// `*` is any run of characters, `{name}` one segment.
    pub path_pattern: Option<String>,
    /// Upper case; empty: any method.
    pub methods: Vec<String>,
    /// A user id has to be present.
    pub requires_authentication: bool,
    /// Lower-case name to exact value, or `*` for any value.
    pub required_headers: BTreeMap<String, String>,
    /// Networks in CIDR notation; empty: any address.
    pub ip_subnet: Vec<String>,
}
