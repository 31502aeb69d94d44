//! The algorithms as scripts know them: each a kernel, in fragments.

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
    /// The bytes of a state that is one string of always the same length; of others 0.
    pub(crate) size: usize,
    pub(crate) load: &'static str,
    /// The values of its own that `load` leaves to the others.
    pub(crate) keeps: &'static str,
    pub(crate) commit: &'static str,
    pub(crate) reply: &'static str,
    pub(crate) refund: &'static str,
}

impl Fragments {
    /// The reply with these numbers before its own, all packed at once: to join two strings takes as long as some
    /// commands.
    pub(crate) fn reply_after(&self, numbers: &str) -> String {
        let doubles = "d".repeat(numbers.split(',').count());
        let packed = self.reply.replace("pack('<", &format!("pack('<{doubles}"));
        packed.replace("grant, now", &format!("{numbers}, grant, now"))
    }

    /// `load` where `state` was read before.
    pub(crate) fn load_of_read(&self) -> String {
        if self.size == 0 { self.load.to_owned() } else { self.load.replacen(READ, "", 1) }
    }

    /// `commit` for a state that may be followed by a copy of what is held: a write of all of it is followed by `anew`, one
    /// of its last numbers by `beside`, where that is given.
    pub(crate) fn commit_with(&self, anew: &str, beside: Option<&str>) -> String {
        if self.size == 0 {
            return self.commit.to_owned();
        }
        let commit = self.commit.replacen(IS_SHARED, &format!("if {OUTLIVED} or {}", &IS_SHARED[3..]), 1);
        let commit = if beside.is_some() { commit.replacen(FIRST_NUMBERS, "", 1) } else { commit };
        let lines = commit.split_inclusive('\n').map(|line| match (line.contains("call('SET'"), beside) {
            (true, _) => followed(line, anew),
            (false, Some(beside)) => followed(line, beside),
            (false, None) => line.to_owned(),
        });
        lines.collect()
    }
}

const READ: &str = "local state = call('GET', key)\n";
/// How `gcra/commit.lua` finds that a life is shared.
const IS_SHARED: &str = "if kept >= 16";
/// And what it packs where that is enough.
const FIRST_NUMBERS: &str = "interval == unit and pack('<dd', owed, now) or ";
/// A state that is followed by a copy lives at least until the first lease ends.
const OUTLIVED: &str = "has_summary and ends <= first_end";

/// A line in which what is packed is followed by a text.
fn followed(line: &str, text: &str) -> String {
    let mut pieces = line.split("pack('<");
    let mut all = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let packed = piece.replacen('\'', "c0'", 1).replacen(')', &format!(", {text})"), 1);
        all.push_str("pack('<");
        all.push_str(&packed);
    }
    all
}

const GCRA: Fragments = Fragments {
    helpers: "",
    numbers: "cost, full, unit",
    size: 24,
    load: include_str!("gcra/load.lua"),
    keeps: "debt, kept, at, interval, unit",
    commit: include_str!("gcra/commit.lua"),
    reply: include_str!("gcra/reply.lua"),
    refund: include_str!("gcra/refund.lua"),
};

/// Without `load`, in which the two kinds differ.
const FIXED_WINDOW: Fragments = Fragments {
    helpers: "",
    numbers: "cost, limit, window, count_denied",
    size: 16,
    load: "",
    keeps: "start, count, window, running",
    commit: include_str!("fixed_window/commit.lua"),
    reply: include_str!("fixed_window/reply.lua"),
    refund: include_str!("fixed_window/refund.lua"),
};

const FIXED_WINDOW_CALENDAR: Fragments = Fragments {
    helpers: "",
    numbers: "cost, limit, count_denied, number, former, opening, closing, later",
    size: 16,
    load: include_str!("fixed_window/load_calendar.lua"),
    keeps: "window, start, ending, count, running",
    commit: include_str!("fixed_window/commit_calendar.lua"),
    reply: include_str!("fixed_window/reply_calendar.lua"),
    refund: include_str!("fixed_window/refund_calendar.lua"),
};

const SLIDING_WINDOW: Fragments = Fragments {
    helpers: "",
    numbers: "cost, limit, window, count_denied",
    size: 24,
    load: include_str!("sliding_window/load.lua"),
    keeps: "start, previous, current, window, running",
    commit: include_str!("sliding_window/commit.lua"),
    reply: include_str!("sliding_window/reply.lua"),
    refund: include_str!("sliding_window/refund.lua"),
};

const SLIDING_LOG_LIST: Fragments = Fragments {
    helpers: include_str!("sliding_log/helpers_list.lua"),
    numbers: "cost, limit, window",
    size: 0,
    load: include_str!("sliding_log/load_list.lua"),
    keeps: "live, length, pivot, newest, window",
    commit: concat!(
        include_str!("sliding_log/commit_list.lua"),
        include_str!("sliding_log/prolong.lua"),
        include_str!("sliding_log/undo_list.lua")
    ),
    reply: include_str!("sliding_log/reply.lua"),
    refund: concat!(include_str!("sliding_log/refund_list.lua"), include_str!("sliding_log/shorten.lua")),
};

const SLIDING_LOG_SORTED_SET: Fragments = Fragments {
    helpers: include_str!("sliding_log/helpers_sorted_set.lua"),
    numbers: "cost, limit, window",
    size: 0,
    load: include_str!("sliding_log/load_sorted_set.lua"),
    keeps: "live, length, pivot, newest, window",
    commit: concat!(
        include_str!("sliding_log/commit_sorted_set.lua"),
        include_str!("sliding_log/prolong.lua"),
        include_str!("sliding_log/undo_sorted_set.lua")
    ),
    reply: include_str!("sliding_log/reply.lua"),
    refund: concat!(
        include_str!("sliding_log/refund_sorted_set.lua"),
        include_str!("sliding_log/shorten.lua")
    ),
};

const SLIDING_BUCKETS: Fragments = Fragments {
    helpers: include_str!("sliding_buckets/helpers.lua"),
    numbers: "cost, limit, window, resolution, count_denied",
    size: 0,
    load: include_str!("sliding_buckets/load.lua"),
    keeps: "slot, current, past, first, tail, newest, pivot, resolution, window",
    commit: include_str!("sliding_buckets/commit.lua"),
    reply: include_str!("sliding_buckets/reply.lua"),
    refund: include_str!("sliding_buckets/refund.lua"),
};

const DECAY: Fragments = Fragments {
    helpers: "",
    numbers: "cost, limit, resolution, factor, slots_per_e, count_denied",
    size: 16,
    load: include_str!("decay/load.lua"),
    keeps: "slot, stored, kept, level, resolution, factor, slots_per_e",
    commit: include_str!("decay/commit.lua"),
    reply: include_str!("decay/reply.lua"),
    refund: include_str!("decay/refund.lua"),
};

/// Nothing is counted but what is held.
const CONCURRENCY: Fragments = Fragments {
    helpers: include_str!("concurrency/helpers.lua"),
    numbers: "cost, limit",
    size: 0,
    load: include_str!("concurrency/load.lua"),
    keeps: "enough_at, last_at",
    commit: "",
    reply: include_str!("concurrency/reply.lua"),
    refund: "",
};

/// A set of kernels; one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct KernelSet(u16);

impl KernelSet {
    /// The set with `kernel` added.
    #[must_use]
    pub const fn with(self, kernel: Kernel) -> Self {
        Self(self.0 | 1 << kernel as u8)
    }

    /// Its kernels in order.
    pub fn iter(self) -> impl Iterator<Item = Kernel> {
        Kernel::ALL.into_iter().filter(move |kernel| self.0 & (1 << *kernel as u8) != 0)
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
