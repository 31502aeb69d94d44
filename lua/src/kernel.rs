//! The algorithms as scripts know them: each a kernel, in fragments.

use crate::marks::filled;

/// A way of keeping state, with its own Lua file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kernel {
    /// `fixed_window`, windows at multiples of their length.
    FixedWindow,
    /// `fixed_window`, windows that open at the first counted check.
    FixedWindowFirstRequest,
    /// `sliding_window`
    SlidingWindow,
    /// `sliding_log` in a list.
    SlidingLogList,
    /// `sliding_log` in a sorted set.
    SlidingLogSortedSet,
    /// `sliding_buckets`
    SlidingBuckets,
    /// `gcra`, `token_bucket`, `leaky_bucket`, `uniform`
    Gcra,
    /// `decay`
    Decay,
    /// `fixed_window`, windows of the calendar.
    FixedWindowCalendar,
    /// `concurrency`
    Concurrency,
}

impl Kernel {
    /// Every kernel, in the order of their places in a [`KernelSet`].
    pub const ALL: [Self; 10] = [
        Self::FixedWindow,
        Self::FixedWindowFirstRequest,
        Self::SlidingWindow,
        Self::SlidingLogList,
        Self::SlidingLogSortedSet,
        Self::SlidingBuckets,
        Self::Gcra,
        Self::Decay,
        Self::FixedWindowCalendar,
        Self::Concurrency,
    ];

    /// Its name, for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FixedWindow => "fixed_window",
            Self::FixedWindowFirstRequest => "fixed_window_first_request",
            Self::SlidingWindow => "sliding_window",
            Self::SlidingLogList => "sliding_log_list",
            Self::SlidingLogSortedSet => "sliding_log_sorted_set",
            Self::SlidingBuckets => "sliding_buckets",
            Self::Gcra => "gcra",
            Self::Decay => "decay",
            Self::FixedWindowCalendar => "fixed_window_calendar",
            Self::Concurrency => "concurrency",
        }
    }

    pub(crate) fn fragments(self) -> Fragments {
        match self {
            Self::FixedWindow => {
                Fragments { load: include_str!("fixed_window/load_aligned.lua"), ..FIXED_WINDOW }
            }
            Self::FixedWindowFirstRequest => {
                Fragments { load: include_str!("fixed_window/load_first_request.lua"), ..FIXED_WINDOW }
            }
            Self::SlidingWindow => SLIDING_WINDOW,
            Self::SlidingLogList => SLIDING_LOG_LIST,
            Self::SlidingLogSortedSet => SLIDING_LOG_SORTED_SET,
            Self::SlidingBuckets => SLIDING_BUCKETS,
            Self::Gcra => GCRA,
            Self::Decay => DECAY,
            Self::FixedWindowCalendar => FIXED_WINDOW_CALENDAR,
            Self::Concurrency => CONCURRENCY,
        }
    }

    /// What follows `load` where something may be taken back: it ends the script, before any state is touched, if this
    /// one is damaged in a part that `load` had no need to look at.
    pub(crate) fn whole(self) -> &'static str {
        if self == Self::SlidingBuckets { include_str!("sliding_buckets/whole.lua") } else { "" }
    }
}

/// The Lua of one kernel, in pieces. What the pieces are for is said in `prelude.lua`.
pub(crate) struct Fragments {
    pub(crate) helpers: &'static str,
    /// The limit's own numbers.
    pub(crate) numbers: &'static str,
    pub(crate) load: &'static str,
    /// The values of its own that `load` leaves to the others.
    pub(crate) keeps: &'static str,
    pub(crate) commit: &'static str,
    pub(crate) reply: &'static str,
    /// Admits further callers of the same cost after the first, in the values that `load` left, for `commit` to write.
    pub(crate) more: &'static str,
    pub(crate) refund: &'static str,
}

impl Fragments {
    /// `load` and `commit` beside what is held, until `lasts`. A debt that is short is given a life with every charge, which
    /// costs more than all else: one that is kept for what is held needs none, and says until when.
    pub(crate) fn beside_held(&self) -> (String, String) {
        if !self.commit.contains(IS_SHARED) {
            return (self.load.to_owned(), self.commit.to_owned());
        }
        let commit = self.commit.replacen(IS_SHARED, LASTS, 1).replacen(WRITTEN, WRITTEN_LASTING, 1);
        ([self.load, include_str!("gcra/lasting.lua")].concat(), commit)
    }

    /// The reply with these numbers before its own, all packed at once: to join two strings takes as long as some
    /// commands.
    pub(crate) fn reply_after(&self, numbers: &str) -> String {
        let doubles = "d".repeat(numbers.split(',').count());
        let (packed, before) = (format!("{PACKED}{doubles}"), format!("{numbers}, {NUMBERS}"));
        filled(self.reply, &[(PACKED, &packed), (NUMBERS, &before)])
    }
}

/// How a reply begins to pack its numbers, and the first of them.
pub(crate) const PACKED: &str = "pack('<";
pub(crate) const NUMBERS: &str = "grant, now";

/// Where `gcra/commit.lua` gives no new life.
pub(crate) const IS_SHARED: &str = "if is_shared then";
const LASTS: &str = "if lasts <= lasting and (is_shared or ends <= lasting) then";
/// What it writes where it does.
pub(crate) const WRITTEN: &str = "call('SET', key, pack('<ddd', owed, now, counted)";
const WRITTEN_LASTING: &str =
    "call('SET', key, pack(lasts > 0 and '<dddd' or '<ddd', owed, now, counted, lasts)";

/// `more` where counts are whole.
const MORE_UNITS: &str = include_str!("driver/more_units.lua");

pub(crate) const GCRA: Fragments = Fragments {
    helpers: "",
    numbers: "cost, full, unit",
    load: include_str!("gcra/load.lua"),
    keeps: "debt, kept, at, interval, unit",
    commit: include_str!("gcra/commit.lua"),
    reply: include_str!("gcra/reply.lua"),
    more: include_str!("gcra/more.lua"),
    refund: include_str!("gcra/refund.lua"),
};

/// Without `load`, in which the two kinds differ.
const FIXED_WINDOW: Fragments = Fragments {
    helpers: "",
    numbers: "cost, limit, window, count_denied",
    load: "",
    keeps: "start, count, window, running",
    commit: include_str!("fixed_window/commit.lua"),
    reply: include_str!("fixed_window/reply.lua"),
    more: MORE_UNITS,
    refund: include_str!("fixed_window/refund.lua"),
};

const FIXED_WINDOW_CALENDAR: Fragments = Fragments {
    helpers: "",
    numbers: "cost, limit, count_denied, number, former, opening, closing, later",
    load: include_str!("fixed_window/load_calendar.lua"),
    keeps: "window, start, ending, count, running",
    commit: include_str!("fixed_window/commit_calendar.lua"),
    reply: include_str!("fixed_window/reply_calendar.lua"),
    more: MORE_UNITS,
    refund: include_str!("fixed_window/refund_calendar.lua"),
};

const SLIDING_WINDOW: Fragments = Fragments {
    helpers: "",
    numbers: "cost, limit, window, count_denied",
    load: include_str!("sliding_window/load.lua"),
    keeps: "start, previous, current, window, running",
    commit: include_str!("sliding_window/commit.lua"),
    reply: include_str!("sliding_window/reply.lua"),
    more: include_str!("sliding_window/more.lua"),
    refund: include_str!("sliding_window/refund.lua"),
};

const SLIDING_LOG_LIST: Fragments = Fragments {
    helpers: include_str!("sliding_log/helpers_list.lua"),
    numbers: "cost, limit, window",
    load: include_str!("sliding_log/load_list.lua"),
    keeps: "live, length, pivot, newest, window",
    commit: concat!(
        include_str!("sliding_log/commit_list.lua"),
        include_str!("sliding_log/prolong.lua"),
        include_str!("sliding_log/undo_list.lua")
    ),
    reply: include_str!("sliding_log/reply.lua"),
    more: MORE_UNITS,
    refund: concat!(include_str!("sliding_log/refund_list.lua"), include_str!("sliding_log/shorten.lua")),
};

const SLIDING_LOG_SORTED_SET: Fragments = Fragments {
    helpers: include_str!("sliding_log/helpers_sorted_set.lua"),
    numbers: "cost, limit, window",
    load: include_str!("sliding_log/load_sorted_set.lua"),
    keeps: "live, length, pivot, newest, window",
    commit: concat!(
        include_str!("sliding_log/commit_sorted_set.lua"),
        include_str!("sliding_log/prolong.lua"),
        include_str!("sliding_log/undo_sorted_set.lua")
    ),
    reply: include_str!("sliding_log/reply.lua"),
    more: MORE_UNITS,
    refund: concat!(
        include_str!("sliding_log/refund_sorted_set.lua"),
        include_str!("sliding_log/shorten.lua")
    ),
};

const SLIDING_BUCKETS: Fragments = Fragments {
    helpers: include_str!("sliding_buckets/helpers.lua"),
    numbers: "cost, limit, window, resolution, count_denied",
    load: include_str!("sliding_buckets/load.lua"),
    keeps: "slot, current, past, first, tail, newest, pivot, resolution, window",
    commit: include_str!("sliding_buckets/commit.lua"),
    reply: include_str!("sliding_buckets/reply.lua"),
    more: MORE_UNITS,
    refund: include_str!("sliding_buckets/refund.lua"),
};

const DECAY: Fragments = Fragments {
    helpers: "",
    numbers: "cost, limit, resolution, factor, slots_per_e, count_denied",
    load: include_str!("decay/load.lua"),
    keeps: "slot, stored, kept, level, resolution, factor, slots_per_e",
    commit: include_str!("decay/commit.lua"),
    reply: include_str!("decay/reply.lua"),
    more: include_str!("decay/more.lua"),
    refund: include_str!("decay/refund.lua"),
};

/// Nothing is counted but what is held.
const CONCURRENCY: Fragments = Fragments {
    helpers: include_str!("concurrency/helpers.lua"),
    numbers: "cost, limit",
    load: include_str!("concurrency/load.lua"),
    keeps: "enough_at, last_at",
    commit: "",
    reply: include_str!("concurrency/reply.lua"),
    more: "",
    refund: "",
};

/// The fragments of all kernels, the two kinds of `fixed_window` by windows of a length as one.
pub(crate) const KINDS: [Fragments; 9] = [
    FIXED_WINDOW,
    FIXED_WINDOW_CALENDAR,
    SLIDING_WINDOW,
    SLIDING_LOG_LIST,
    SLIDING_LOG_SORTED_SET,
    SLIDING_BUCKETS,
    GCRA,
    DECAY,
    CONCURRENCY,
];

/// A set of kernels; one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct KernelSet(u16);

impl KernelSet {
    /// The set with `kernel` added.
    #[must_use]
    pub const fn with(self, kernel: Kernel) -> Self {
        Self(self.0 | 1 << kernel as u8)
    }

    /// Whether `kernel` is one of them.
    pub const fn has(self, kernel: Kernel) -> bool {
        self.0 & (1 << kernel as u8) != 0
    }

    /// Its kernels in order.
    pub fn iter(self) -> impl Iterator<Item = Kernel> {
        Kernel::ALL.into_iter().filter(move |kernel| self.has(*kernel))
    }

    /// The place of a kernel among those of the set, counted from 1: how a script for several limits
    /// receives the algorithm of each limit.
    pub const fn place(self, kernel: Kernel) -> u32 {
        let up_to = (1 << kernel as u8) | ((1 << kernel as u8) - 1);
        (self.0 & up_to).count_ones()
    }

    /// The set as a number, for tables of scripts.
    pub const fn bits(self) -> u16 {
        self.0
    }
}
