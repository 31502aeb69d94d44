//! The scripts of limits over several regions: what a region does with what it was lent, and what the region in charge lends.

use crate::kernel::{Fragments, Kernel, KernelSet};
use crate::marks::filled;
use crate::{HEADER, PARAMS, helpers, opening, opening_of_one, together_with, unpacking_params};

const LOAD: &str = include_str!("load.lua");
const DECIDE: &str = include_str!("decide.lua");
const SPEND: &str = include_str!("spend.lua");
const DEPOSIT: &str = include_str!("deposit.lua");
const SAVE: &str = include_str!("save.lua");
const LEND: &str = include_str!("lend.lua");
/// The script that keeps, and answers, on which terms a region decides.
pub const TERMS: &str = include_str!("terms.lua");
pub(crate) const ONE_OF_SEVERAL: &str = include_str!("one_of_several.lua");
const LOAD_ONE: &str = include_str!("load_one.lua");
/// Allotments have this place among the kernels of a call.
const PLACE: u8 = 0;

const SPEND_NUMBERS: &str = "now, cost, demand, age, useful, span, trip, pace";
const ONE_NUMBERS: &str = "cost, demand, there, age, useful, span, trip, pace";
const DEPOSIT_NUMBERS: &str = "now, age, useful, span, granted, granted_at, valid_until, new_denied_until, \
                               new_denied_cost, new_contended_until, new_fits_at, new_fresh_at";
const LEND_HEADER: &str = "now, own, want, price";

/// The kernels of rules whose limits may hold over several regions, and be lent.
pub const LENDING: [Kernel; 3] = [Kernel::FixedWindow, Kernel::FixedWindowFirstRequest, Kernel::Gcra];

/// The script that spends from an allotment.
pub fn spend() -> String {
    let alone = "local key, there, is_refused = KEYS[1], 0, false\n";
    [&opening(SPEND_NUMBERS), alone, LOAD, DECIDE, SPEND, SAVE].concat()
}

/// The script that decides limits of these kernels and allotments together: all are charged and spent from, or none is.
pub fn several(kernels: KernelSet) -> String {
    let (load, spend) =
        ([&unpacking_params(ONE_NUMBERS, PARAMS), LOAD, DECIDE].concat(), [SPEND, SAVE].concat());
    let allotment = filled(ONE_OF_SEVERAL, &[("  --LOAD\n", &load), ("    --SPEND\n", &spend)]);
    let load = format!("if which == {PLACE} then\n{LOAD_ONE}end\n");
    let commit = format!(
        "if which == {PLACE} then\nreplies[i] = found[5](found[6] == 1 and shared == 0, mode == 0)\nend\n"
    );
    [opening(HEADER).as_str(), &helpers(kernels), &allotment, &together_with(kernels, load, commit)].concat()
}

/// The script that keeps what was lent.
pub fn deposit() -> String {
    [&opening(DEPOSIT_NUMBERS), "local key = KEYS[1]\n", LOAD, DEPOSIT, SAVE].concat()
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
