//! The Lua scripts of [Sluicegate](https://docs.rs/sluicegate), composed from small files.
//!
//! A script is the prelude, the algorithms it needs and a driver. A plain check of one limit runs
//! no code that it does not need; several limits are decided together by one call. The text depends
//! on the set of algorithms alone, never on a limit or a key, so a server keeps few scripts.
//!
//! The scripts decide and commit. What a caller wants to know beyond that is computed from the
//! state they return, by the crate `sluicegate`, which is the only intended user of this one.

const PRELUDE: &str = include_str!("prelude.lua");
const ONE: &str = include_str!("driver/one.lua");
const SEVERAL: &str = include_str!("driver/several.lua");
const REFUND: &str = include_str!("driver/refund.lua");

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
}

impl Kernel {
    /// Every kernel, in the order of their places in a [`KernelSet`].
    pub const ALL: [Self; 8] = [
        Self::FixedWindow,
        Self::FixedWindowFirstRequest,
        Self::SlidingWindow,
        Self::SlidingLogList,
        Self::SlidingLogSortedSet,
        Self::SlidingBuckets,
        Self::Gcra,
        Self::Decay,
    ];

    fn algorithm(self) -> &'static str {
        match self {
            Self::FixedWindow => concat!(
                include_str!("algorithm/fixed_window_aligned.lua"),
                include_str!("algorithm/fixed_window.lua")
            ),
            Self::FixedWindowFirstRequest => concat!(
                include_str!("algorithm/fixed_window_first_request.lua"),
                include_str!("algorithm/fixed_window.lua")
            ),
            Self::SlidingWindow => include_str!("algorithm/sliding_window.lua"),
            Self::SlidingLogList => include_str!("algorithm/sliding_log_list.lua"),
            Self::SlidingLogSortedSet => include_str!("algorithm/sliding_log_sorted_set.lua"),
            Self::SlidingBuckets => include_str!("algorithm/sliding_buckets.lua"),
            Self::Gcra => include_str!("algorithm/gcra.lua"),
            Self::Decay => include_str!("algorithm/decay.lua"),
        }
    }

    fn refund(self) -> &'static str {
        match self {
            Self::FixedWindow | Self::FixedWindowFirstRequest => include_str!("refund/fixed_window.lua"),
            Self::SlidingWindow => include_str!("refund/sliding_window.lua"),
            Self::SlidingLogList => include_str!("refund/sliding_log_list.lua"),
            Self::SlidingLogSortedSet => include_str!("refund/sliding_log_sorted_set.lua"),
            Self::SlidingBuckets => include_str!("refund/sliding_buckets.lua"),
            Self::Gcra => include_str!("refund/gcra.lua"),
            Self::Decay => include_str!("refund/decay.lua"),
        }
    }
}

/// A set of kernels; one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct KernelSet(u8);

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
    /// is told which algorithm a limit has.
    pub const fn place(self, kernel: Kernel) -> u32 {
        let up_to = (1 << kernel as u8) | ((1 << kernel as u8) - 1);
        (self.0 & up_to).count_ones()
    }

    /// The set as a number below 256, for tables of scripts.
    pub const fn bits(self) -> u8 {
        self.0
    }
}

/// The script that checks, or looks at, one limit.
pub fn one(kernel: Kernel) -> String {
    [PRELUDE, kernel.algorithm(), ONE].join("\n")
}

/// The script that checks, or looks at, several limits together.
pub fn several(kernels: KernelSet) -> String {
    [PRELUDE, &table(kernels, false), SEVERAL].join("\n")
}

/// The script that gives back cost to one or several limits, then looks at them.
pub fn refund(kernels: KernelSet) -> String {
    [PRELUDE, &table(kernels, true), REFUND, SEVERAL].join("\n")
}

fn table(kernels: KernelSet, refunds: bool) -> String {
    let mut text = String::from("local load_of, commit_of, reply_of, refund_of = {}, {}, {}, {}\n");
    for kernel in kernels.iter() {
        let place = kernels.place(kernel);
        text.push_str("do\n");
        text.push_str(kernel.algorithm());
        text.push_str(&format!(
            "load_of[{place}], commit_of[{place}], reply_of[{place}] = load, commit, reply\n"
        ));
        if refunds {
            text.push_str(kernel.refund());
            text.push_str(&format!("refund_of[{place}] = refund\n"));
        }
        text.push_str("end\n");
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
        assert_eq!(script.matches("local function load(").count(), 1);
        assert!(!script.contains("load_of"));
    }
}
