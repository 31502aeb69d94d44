//! How much tests of random inputs try.

use std::env;

/// All of it with `SLUICEGATE_LONG_TESTS`, as at night; otherwise a third.
pub(crate) fn by_day(all: u32) -> u32 {
    if env::var_os("SLUICEGATE_LONG_TESTS").is_some() { all } else { all.div_ceil(3) }
}
