//! The scripts for rules whose keys may be blocked, or have limits of their own: the same drivers, with what stands
//! beside the states at their marks.

use crate::kernel::Fragments;
use crate::marks::filled;
use crate::{ENDING, FORGET, HELD, HELD_HEADER, HOLDINGS, LATE, LAYOUT, helpers, limits_beside, opening};
use crate::{Kernel, KernelSet};

const LOAD: &str = include_str!("load.lua");
const BEGIN: &str = include_str!("begin.lua");
const SAVE: &str = include_str!("save.lua");
const OVER: &str = include_str!("over.lua");
pub(crate) const DECIDE: &str = include_str!("decide.lua");
const CHANGE: &str = include_str!("change.lua");
pub(crate) const FORGET_BLOCKS: &str = include_str!("forget.lua");
pub(crate) const KEY_RECORDS: &str = include_str!("../driver/key_records.lua");
const KEY_RECORDS_LOAD: &str = include_str!("../driver/key_records_load.lua");
const KEY_RECORDS_GRANT: &str = include_str!("../driver/key_records_grant.lua");
const KEY_RECORDS_HEAL: &str = include_str!("../driver/key_records_heal.lua");
const KEY_RECORDS_REPLY: &str = include_str!("../driver/key_records_reply.lua");
/// The numbers of the interval at a stored limit, for the kernel whose measure is time.
const STORED_INTERVAL: &str = include_str!("../gcra/stored.lua");
const STORED_LIMIT: &str = include_str!("stored.lua");
const STORED_LIMIT_OF_LOG: &str = include_str!("../sliding_log/stored.lua");

/// The numbers that a check of one limit is called with, beside whose state something may stand.
const ONE_HEADER: &str = "now, mode, takes_stored, first_block, growth, longest_block";
const CHANGE_HEADER: &str = "now, op, limit, span, growth, longest_block";
/// The byte at which a limit's own numbers begin in a script for several.
const PARAMS: usize = 137;

/// The script that checks, or looks at, one limit, beside whose state something may stand.
pub fn one(kernel: Kernel) -> String {
    let fragments = kernel.fragments();
    let reply = fragments.reply_after("block, in_force");
    let Fragments { helpers, numbers, load, commit, .. } = fragments;
    let (header, stored) = match kernel {
        Kernel::Gcra => (format!("{ONE_HEADER}, units, refill, burst, {numbers}"), STORED_INTERVAL),
        Kernel::SlidingLogList | Kernel::SlidingLogSortedSet => {
            (format!("{ONE_HEADER}, {numbers}"), STORED_LIMIT_OF_LOG)
        }
        _ => (format!("{ONE_HEADER}, {numbers}"), STORED_LIMIT),
    };
    // A key that is blocked counts nothing.
    let spares = if numbers.contains("count_denied") {
        "if blocked_until > now then count_denied = 0 end\n"
    } else {
        ""
    };
    let keys = "local key, record_key, in_force = KEYS[1], KEYS[2], 0\n";
    let takes = concat!(
        "if own_until > now and takes_stored == 1 then\n",
        "in_force = own_until < LATEST and -own_limit or own_limit\n"
    );
    let decide = with_blocks(DECIDE);
    [
        &opening(&header),
        helpers,
        keys,
        LOAD,
        takes,
        stored,
        "end\n",
        spares,
        load,
        &decide,
        commit,
        "end\n",
        &reply,
        "return answer\n",
    ]
    .concat()
}

/// The script that checks, looks at, refunds, charges or reserves limits beside which something may be held, or stand.
pub fn held(kernels: KernelSet) -> String {
    let driver = filled(
        HELD,
        &[
            ("  --KEY RECORD LOAD\n", KEY_RECORDS_LOAD),
            ("  --KEY RECORD GRANT\n", KEY_RECORDS_GRANT),
            ("  --KEY RECORD REPLY\n", KEY_RECORDS_REPLY),
        ],
    );
    beside(kernels, &driver)
}

/// The script that commits, releases or renews a reservation, beside which something may stand.
pub fn ending(kernels: KernelSet) -> String {
    beside(kernels, &filled(ENDING, &[("--KEY RECORD HEAL\n", KEY_RECORDS_HEAL)]))
}

/// The script that resets keys for which something may be held, or stand.
pub fn forget() -> String {
    let forget_blocks = with_blocks(FORGET_BLOCKS);
    [&opening(HELD_HEADER), LAYOUT, &forget_blocks, HOLDINGS, FORGET].concat()
}

/// The script that changes by hand what stands beside the states of one key.
pub fn change() -> String {
    let key = "local record_key = KEYS[1]\n";
    [&opening(CHANGE_HEADER), key, LOAD, CHANGE, SAVE, "return took_effect\n"].concat()
}

fn beside(kernels: KernelSet, driver: &str) -> String {
    let stored = with_blocks(KEY_RECORDS);
    let late = filled(LATE, &[("--KEY RECORDS\n", &stored)]);
    let begins = opening(HELD_HEADER) + LAYOUT + &helpers(kernels);
    [begins.as_str(), HOLDINGS, &limits_beside(kernels, PARAMS), &late, driver].concat()
}

/// A driver with what reads, begins and writes blocks at its marks.
fn with_blocks(driver: &str) -> String {
    filled(
        driver,
        &[
            ("--LOAD\n", LOAD),
            ("--OVER\n", OVER),
            ("--BEGIN\n", BEGIN),
            ("--SAVE\n", SAVE),
            ("--STORED\n", STORED_INTERVAL),
        ],
    )
}
