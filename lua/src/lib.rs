//! The Lua scripts of [Sluicegate](https://docs.rs/sluicegate), composed from small files.
//!
//! A script is the prelude, the algorithms it needs and a driver. A plain check of one limit runs
//! no code that it does not need; several limits are decided together by one call. The text depends
//! on the set of algorithms alone, never on a limit or a key, so a server keeps few scripts.
//!
//! `generated` beside the sources has the scripts as servers get them, for readers.
//!
//! The scripts decide and commit. What a caller wants to know beyond that is computed from the
//! state they return, by the crate `sluicegate`, which is the only intended user of this one.

mod listing;

pub use listing::{commands, scripts};

const PRELUDE: &str = include_str!("prelude.lua");
const CLOCK: &str = include_str!("clock.lua");
const GRANT: &str = include_str!("driver/grant.lua");
const DECIDE: &str = include_str!("driver/one.lua");
const EACH: &str = include_str!("driver/each.lua");
const SEVERAL: &str = include_str!("driver/several.lua");
const REFUND: &str = include_str!("driver/refund.lua");
const CHARGE_ONE: &str = include_str!("driver/charge_one.lua");
const CHARGE_SEVERAL: &str = include_str!("driver/charge_several.lua");
const LAYOUT: &str = include_str!("driver/layout.lua");
const HELD_PLAINLY: &str = include_str!("driver/held_plainly.lua");
const ENDING_PLAINLY: &str = include_str!("driver/ending_plainly.lua");
const HOLDINGS: &str = include_str!("driver/holdings.lua");
const LATE: &str = include_str!("driver/late.lua");
const HELD: &str = include_str!("driver/held.lua");
const ENDING: &str = include_str!("driver/ending.lua");
const FORGET: &str = include_str!("driver/forget.lua");

/// The numbers that a script for several limits is called with.
const HEADER: &str = "now, units, mode";
/// Those of a script that checks one limit.
const ONE_HEADER: &str = "now, mode";
/// Those of the script that charges one limit.
const CHARGE_HEADER: &str = "now, amount, mode";
/// Those of the scripts for rules with reservations.
const HELD_HEADER: &str = "now, op, count";
/// The byte at which a limit's own numbers begin in a script for several.
const PARAMS: usize = 25;
/// The same in a script for rules with reservations.
const HELD_PARAMS: usize = 57;

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

    fn fragments(self) -> Fragments {
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
    fn whole(self) -> &'static str {
        if self == Self::SlidingBuckets { include_str!("sliding_buckets/whole.lua") } else { "" }
    }
}

/// The Lua of one kernel, in pieces. What the pieces are for is said in `prelude.lua`.
struct Fragments {
    helpers: &'static str,
    /// The limit's own numbers.
    numbers: &'static str,
    load: &'static str,
    /// The values of its own that `load` leaves to the others.
    keeps: &'static str,
    commit: &'static str,
    reply: &'static str,
    refund: &'static str,
}

const GCRA: Fragments = Fragments {
    helpers: "",
    numbers: "cost, full, unit",
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
    load: "",
    keeps: "start, count, window, running",
    commit: include_str!("fixed_window/commit.lua"),
    reply: include_str!("fixed_window/reply.lua"),
    refund: include_str!("fixed_window/refund.lua"),
};

const FIXED_WINDOW_CALENDAR: Fragments = Fragments {
    helpers: "",
    numbers: "cost, limit, count_denied, number, former, opening, closing, later",
    load: include_str!("fixed_window/load_calendar.lua"),
    keeps: "window, start, ending, count, running",
    commit: include_str!("fixed_window/commit_calendar.lua"),
    reply: include_str!("fixed_window/reply_calendar.lua"),
    refund: include_str!("fixed_window/refund_calendar.lua"),
};

const SLIDING_WINDOW: Fragments = Fragments {
    helpers: "",
    numbers: "cost, limit, window, count_denied",
    load: include_str!("sliding_window/load.lua"),
    keeps: "start, previous, current, window, running",
    commit: include_str!("sliding_window/commit.lua"),
    reply: include_str!("sliding_window/reply.lua"),
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
    refund: include_str!("sliding_buckets/refund.lua"),
};

const DECAY: Fragments = Fragments {
    helpers: "",
    numbers: "cost, limit, resolution, factor, slots_per_e, count_denied",
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

/// The script that checks, or looks at, one limit: its fragments in a row.
pub fn one(kernel: Kernel) -> String {
    [&opening_of_one(ONE_HEADER, kernel), "local key = KEYS[1]\n", &decision(kernel)].concat()
}

/// The script that checks, or looks at, one limit of each of several keys, every one for itself: what as many
/// calls of [`one`] with the same numbers would do, at one time and in one call.
pub fn each(kernel: Kernel) -> String {
    [&opening_of_one(ONE_HEADER, kernel), "local function decide(key)\n", &decision(kernel), "end\n", EACH]
        .concat()
}

/// What precedes decisions about one limit, whose numbers are in `ARGV[1]`.
fn opening_of_one(header: &str, kernel: Kernel) -> String {
    let Fragments { helpers, numbers, .. } = kernel.fragments();
    opening(&[header, numbers].join(", ")) + helpers
}

/// One decision, from `key` to the answer.
fn decision(kernel: Kernel) -> String {
    let Fragments { load, commit, reply, .. } = kernel.fragments();
    [load, DECIDE, commit, "end\n", reply, "return answer\n"].concat()
}

/// The script that checks, or looks at, several limits together.
pub fn several(kernels: KernelSet) -> String {
    opening(HEADER) + &helpers(kernels) + &together(kernels)
}

/// The script that gives back cost to one or several limits, then looks at them.
pub fn refund(kernels: KernelSet) -> String {
    opening(HEADER) + &helpers(kernels) + &refunds(kernels) + REFUND + &together(kernels)
}

/// The script that charges one limit, whether or not it has room.
pub fn charge_one(kernel: Kernel) -> String {
    let Fragments { load, commit, reply, .. } = kernel.fragments();
    let opening = opening_of_one(CHARGE_HEADER, kernel);
    let grant = "local grant = 0\n";
    [&opening, "local key = KEYS[1]\n", load, CHARGE_ONE, commit, grant, reply, "return answer\n"].concat()
}

/// The script that charges several limits, whether or not they have room: all, or none.
pub fn charge_several(kernels: KernelSet) -> String {
    opening(HEADER) + &helpers(kernels) + &charges(kernels) + CHARGE_SEVERAL
}

/// The script that checks, looks at, refunds, charges or reserves limits beside which something may be held.
pub fn held(kernels: KernelSet) -> String {
    beside(kernels, HELD_PLAINLY, HELD)
}

/// The script that commits, releases or renews a reservation.
pub fn ending(kernels: KernelSet) -> String {
    beside(kernels, ENDING_PLAINLY, ENDING)
}

/// A script for rules with reservations: a short way for one limit, then the driver for all.
fn beside(kernels: KernelSet, plainly: &str, driver: &str) -> String {
    let mut all = kernels.iter();
    let (numbers, plainly) = match (all.next(), all.next()) {
        (Some(kernel), None) => inlined(plainly, kernel),
        _ => (HELD_HEADER.to_owned(), String::new()),
    };
    let begins = opening(&numbers) + LAYOUT + &helpers(kernels);
    [&begins, &plainly, HOLDINGS, &limits_beside(kernels), LATE, driver].concat()
}

/// The numbers of a call about one limit, and a driver with the fragments of its kernel at the marks.
fn inlined(driver: &str, kernel: Kernel) -> (String, String) {
    let Fragments { numbers, load, commit, reply, .. } = kernel.fragments();
    let numbers = format!("{HELD_HEADER}, which, group, holder_of, price, units, extra, kind, {numbers}");
    let marks = [("--LOAD\n", load), ("--COMMIT\n", commit), ("--REPLY\n", reply)];
    let driver =
        marks.into_iter().fold(driver.to_owned(), |driver, (mark, fragment)| driver.replace(mark, fragment));
    (numbers, driver)
}

/// The script that resets a key for which something may be held.
pub fn forget() -> String {
    [&opening(HELD_HEADER), LAYOUT, HOLDINGS, FORGET].concat()
}

/// Limits as functions, in tables by the places of the kernels: what loads a state, what writes and answers, what takes
/// back.
fn limits_beside(kernels: KernelSet) -> String {
    let mut text = String::from("local load_of, conclude_of, refund_of = {}, {}, {}\n");
    for kernel in kernels.iter() {
        let Fragments { numbers, load, keeps, commit, reply, refund, .. } = kernel.fragments();
        let (place, numbers) = (kernels.place(kernel), unpacking_params(numbers, HELD_PARAMS));
        let whole = kernel.whole();
        text.push_str(&format!(
            "load_of[{place}] = function(key, arg)\n{numbers}{load}{whole}\
             return cost, capacity, forced, {keeps}\nend\n\
             conclude_of[{place}] = function(key, grant, amount, {keeps})\n\
             if amount then\n{commit}end\n{reply}return answer\nend\n\
             refund_of[{place}] = function(key, amount, charged_at, {keeps})\n\
             local function commit(key, amount, {keeps})\n{commit}end\n{refund}end\n"
        ));
    }
    text
}

/// What every script begins with; `numbers` are those in `ARGV[1]`.
fn opening(numbers: &str) -> String {
    [PRELUDE, &unpacking(numbers, "ARGV[1]"), CLOCK].concat()
}

/// The statement that names the numbers in a string: one call for all of them.
fn unpacking(numbers: &str, from: &str) -> String {
    let doubles = "d".repeat(numbers.split(',').count());
    format!("local {numbers} = unpack_numbers('<{doubles}', {from})\n")
}

/// The same for a limit's own numbers in a script for several.
fn unpacking_params(numbers: &str, params: usize) -> String {
    unpacking(numbers, &format!("arg, {params}"))
}

fn helpers(kernels: KernelSet) -> String {
    kernels.iter().map(|kernel| kernel.fragments().helpers).collect()
}

/// The driver of several limits, with the fragments of the kernels at its marks.
fn together(kernels: KernelSet) -> String {
    let (mut loads, mut commits) = (String::new(), String::new());
    for kernel in kernels.iter() {
        let Fragments { numbers, load, keeps, commit, reply, .. } = kernel.fragments();
        let (place, numbers) = (kernels.place(kernel), unpacking_params(numbers, PARAMS));
        let last = 4 + keeps.split(',').count();
        loads.push_str(&format!(
            "if which == {place} then\n{numbers}{load}{GRANT}\
             loaded[i], grants[i] = {{ which, group, cost, forced, {keeps} }}, grant\nend\n"
        ));
        commits.push_str(&format!(
            "if which == {place} then\nlocal {keeps} = unpack(found, 5, {last})\n\
             if is_charged then\n{commit}end\n{reply}replies[i] = answer\nend\n"
        ));
    }
    SEVERAL.replace("  --LOAD\n", &loads).replace("  --COMMIT\n", &commits)
}

/// What takes back, as functions in tables by the places of the kernels.
fn refunds(kernels: KernelSet) -> String {
    let mut text = String::from("local load_of, refund_of = {}, {}\n");
    for kernel in kernels.iter() {
        let Fragments { numbers, load, keeps, commit, refund, .. } = kernel.fragments();
        let (place, numbers) = (kernels.place(kernel), unpacking_params(numbers, PARAMS));
        let whole = kernel.whole();
        text.push_str(&format!(
            "load_of[{place}] = function(key, arg)\n{numbers}{load}{whole}\
             return cost, capacity, forced, {keeps}\nend\n\
             refund_of[{place}] = function(key, amount, charged_at, {keeps})\n\
             local function commit(key, amount, {keeps})\n{commit}end\n{refund}end\n"
        ));
    }
    text
}

/// What charges, as functions in tables by the places of the kernels.
fn charges(kernels: KernelSet) -> String {
    let mut text = String::from("local load_of, charge_of = {}, {}\n");
    for kernel in kernels.iter() {
        let Fragments { numbers, load, keeps, commit, reply, .. } = kernel.fragments();
        let (place, numbers) = (kernels.place(kernel), unpacking_params(numbers, PARAMS));
        text.push_str(&format!(
            "load_of[{place}] = function(key, arg)\n{numbers}{load}\
             return cost, capacity, forced, {keeps}\nend\n\
             charge_of[{place}] = function(key, amount, {keeps})\n\
             local grant = 0\n{commit}{reply}return answer\nend\n"
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_from_one_in_order() {
        let set = KernelSet::default().with(Kernel::Decay).with(Kernel::SlidingWindow);
        assert_eq!(set.place(Kernel::SlidingWindow), 1);
        assert_eq!(set.place(Kernel::Decay), 2);
        assert_eq!(set.iter().collect::<Vec<_>>(), [Kernel::SlidingWindow, Kernel::Decay]);
    }

    #[test]
    fn a_plain_check_carries_one_algorithm() {
        let script = one(Kernel::Gcra);
        assert_eq!(script.matches("local capacity").count(), 1);
        assert!(!script.contains("group_grant"));
    }
}
