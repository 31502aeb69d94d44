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

pub mod allotment;
mod kernel;
pub mod key_record;
mod listing;
mod marks;
mod pieces;

use kernel::Fragments;
pub use kernel::{Kernel, KernelSet};
pub use listing::{commands, scripts};
use marks::filled;

const PRELUDE: &str = include_str!("prelude.lua");
const CLOCK: &str = include_str!("clock.lua");
const GRANT: &str = include_str!("driver/grant.lua");
const DECIDE: &str = include_str!("driver/one.lua");
const EACH: &str = include_str!("driver/each.lua");
const UP_TO: &str = include_str!("driver/up_to.lua");
const UP_TO_GRANT: &str = include_str!("driver/up_to_grant.lua");
const UP_TO_MORE: &str = include_str!("driver/up_to_more.lua");
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
const REPEATABLE: &str = include_str!("driver/repeatable.lua");

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

/// The script that checks, or looks at, one limit of each of several keys for several callers: what as many calls of
/// [`one`] with the same numbers would do, one after the other at one time and in one call.
pub fn up_to(kernel: Kernel) -> String {
    let Fragments { load, commit, reply, more, .. } = kernel.fragments();
    let opening = opening_of_one(ONE_HEADER, kernel);
    [
        &opening,
        "local function decide(key, units)\n",
        load,
        UP_TO_GRANT,
        reply,
        UP_TO_MORE,
        more,
        "end\n",
        commit,
        "end\nreturn answer, callers\nend\n",
        UP_TO,
    ]
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
    [
        begins.as_str(),
        &plainly,
        HOLDINGS,
        &limits_beside(kernels, HELD_PARAMS),
        &unmarked(LATE),
        &unmarked(driver),
    ]
    .concat()
}

/// A driver where nothing stands beside the states: without the marks for that.
fn unmarked(driver: &str) -> String {
    driver
        .lines()
        .filter(|line| !line.trim_start().starts_with("--KEY RECORD"))
        .flat_map(|line| [line, "\n"])
        .collect()
}

/// The numbers of a call about one limit, and a driver with the fragments of its kernel at the marks.
fn inlined(driver: &str, kernel: Kernel) -> (String, String) {
    let fragments = kernel.fragments();
    let beside = fragments.reply_after("BESIDE, held, token");
    let (load, commit) = fragments.beside_held();
    let Fragments { numbers, reply, .. } = fragments;
    let numbers = format!("{HELD_HEADER}, which, group, holder_of, price, units, extra, kind, {numbers}");
    let marks =
        [("--LOAD\n", &*load), ("--COMMIT\n", &commit), ("--REPLY\n", reply), ("--REPLY_BESIDE\n", &beside)];
    (numbers, filled(driver, &marks))
}

/// The script that resets a key for which something may be held.
pub fn forget() -> String {
    [&opening(HELD_HEADER), LAYOUT, HOLDINGS, FORGET].concat()
}

/// A script that stores the answer of another one, and gives it to every later call with the same request id.
pub fn repeatable(script: &str) -> String {
    filled(REPEATABLE, &[("  --SCRIPT\n", script)])
}

/// Limits as functions, in tables by the places of the kernels: what loads a state, what writes and answers, what takes
/// back.
fn limits_beside(kernels: KernelSet, params: usize) -> String {
    let mut text = String::from("local load_of, commit_of, refund_of = {}, {}, {}\n");
    for kernel in kernels.iter() {
        let Fragments { numbers, load, keeps, commit, reply, refund, .. } = kernel.fragments();
        let (place, numbers) = (kernels.place(kernel), unpacking_params(numbers, params));
        let whole = kernel.whole();
        text.push_str(&format!(
            "load_of[{place}] = function(key, arg)\n{numbers}{load}{whole}\
             return cost, capacity, forced, {keeps}\nend\n\
             commit_of[{place}] = function(key, grant, amount, {keeps})\n\
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
    together_with(kernels, String::new(), String::new())
}

/// The same after other fragments that load, and commit.
fn together_with(kernels: KernelSet, mut loads: String, mut commits: String) -> String {
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
    filled(SEVERAL, &[("  --LOAD\n", &loads), ("  --COMMIT\n", &commits)])
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
    fn whatever_is_answered_beside_a_limit_is_packed_with_its_answer() {
        for kernel in Kernel::ALL {
            let reply = kernel.fragments().reply_after("block, in_force");
            let count = |what: &str| reply.matches(what).count();
            assert!(count("pack(") > 0 && count("pack('<ddddd") == count("pack("), "{kernel:?}: {reply}");
            assert_eq!(count("', block, in_force, grant, now, "), count("pack("), "{kernel:?}: {reply}");
        }
    }

    #[test]
    fn a_debt_that_is_kept_for_what_is_held_says_until_when() {
        let (load, commit) = Kernel::Gcra.fragments().beside_held();
        assert!(load.contains("local lasting = "));
        assert!(commit.contains("lasts <= lasting") && commit.contains("counted, lasts)"));
    }

    #[test]
    fn every_mark_of_a_driver_is_filled() {
        for (name, script) in
            scripts(Kernel::ALL.into_iter().fold(KernelSet::default(), KernelSet::with), true, true)
        {
            let is_mark = |line: &&str| {
                let mark = line.trim_start().strip_prefix("--");
                mark.is_some_and(|mark| {
                    !mark.is_empty() && mark.bytes().all(|it| it.is_ascii_uppercase() || b" _".contains(&it))
                })
            };
            assert_eq!(script.lines().find(is_mark), None, "{name}");
        }
    }

    #[test]
    fn a_plain_check_carries_one_algorithm() {
        let script = one(Kernel::Gcra);
        assert_eq!(script.matches("local capacity").count(), 1);
        assert!(!script.contains("group_grant"));
    }
}
