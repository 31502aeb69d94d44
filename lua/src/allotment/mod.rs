//! The scripts of limits over several regions: what a region does with what it was lent, and what the region in charge lends.

use crate::kernel::{Fragments, Kernel};
use crate::{opening, opening_of_one};

const LOAD: &str = include_str!("load.lua");
const SPEND: &str = include_str!("spend.lua");
const DEPOSIT: &str = include_str!("deposit.lua");
const SAVE: &str = include_str!("save.lua");
const LEND: &str = include_str!("lend.lua");

const SPEND_NUMBERS: &str = "now, cost, most, age, useful, span, trip, pace";
const DEPOSIT_NUMBERS: &str = "now, age, useful, span, granted, granted_at, valid_until, new_denied_until, \
                               new_denied_cost, new_contended_until, new_fits_at, new_fresh_at";
const LEND_HEADER: &str = "now, own, want, price";

/// The kernels of rules whose limits may hold over several regions, and be lent.
pub const LENDING: [Kernel; 3] = [Kernel::FixedWindow, Kernel::FixedWindowFirstRequest, Kernel::Gcra];

/// The script that spends from an allotment.
pub fn spend() -> String {
    [&opening(SPEND_NUMBERS), LOAD, SPEND, SAVE].concat()
}

/// The script that keeps what was lent.
pub fn deposit() -> String {
    [&opening(DEPOSIT_NUMBERS), LOAD, DEPOSIT, SAVE].concat()
}

/// The script of the region in charge: decides one call of another region, and lends.
pub fn lend(kernel: Kernel) -> String {
    let fragments = kernel.fragments();
    let reply = fragments.reply_after("lent");
    let Fragments { load, commit, .. } = fragments;
    [
        &opening_of_one(LEND_HEADER, kernel),
        "local key = KEYS[1]\n",
        load,
        LEND,
        commit,
        "end\n",
        &reply,
        "return answer\n",
    ]
    .concat()
}
