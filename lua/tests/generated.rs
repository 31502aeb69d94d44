//! The scripts as servers get them, in `generated`, for who reads or reviews them.
//!
//! `SLUICEGATE_WRITE_LUA=1 cargo test -p sluicegate-lua --test generated` writes them.

// A test that cannot go on has failed.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::{env, fs};

use sluicegate_lua::{Kernel, KernelSet, scripts};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("generated")
}

/// Every fragment is in what checks and what refunds one limit. The other drivers are shown once: for others the same
/// pieces stand in the same places.
const ONCE: [&str; 21] = [
    "charge_gcra",
    "repeatable_check_gcra",
    "each_gcra",
    "up_to_gcra",
    "up_to_sliding_window",
    "up_to_sliding_log_list",
    "lend_gcra",
    "allotment_spend",
    "allotment_deposit",
    "allotment_several_sliding_window_and_gcra",
    "check_several_sliding_window_and_gcra",
    "held_gcra",
    "held_concurrency",
    "ending_gcra",
    "forget_held",
    "key_record_check_fixed_window",
    "key_record_check_gcra",
    "key_record_gcra",
    "key_record_ending_gcra",
    "key_record_forget_held",
    "key_record_change",
];

fn is_shown(name: &str) -> bool {
    let of_one = !name.contains("_several_") && !name.contains("_and_") && !name.ends_with('_');
    of_one && ["check_", "refund_"].iter().any(|what| name.starts_with(what)) || ONCE.contains(&name)
}

fn composed() -> BTreeMap<String, String> {
    let set = |kernels: &[Kernel]| kernels.iter().fold(KernelSet::default(), |set, kernel| set.with(*kernel));
    let alone = Kernel::ALL.map(|kernel| set(&[kernel]));
    let together = [set(&[Kernel::SlidingWindow, Kernel::Gcra])];
    let all = alone.into_iter().chain(together).flat_map(|kernels| scripts(kernels, true, true));
    let shown = all.filter(|(name, _)| is_shown(name));
    shown.map(|(name, text)| (format!("{name}.lua"), format!("-- Generated from lua/src.\n{text}"))).collect()
}

fn written() -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap());
    let read = |entry: fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap())
    };
    entries.map(read).collect()
}

#[test]
fn the_generated_scripts_are_current() {
    let composed = composed();
    if env::var_os("SLUICEGATE_WRITE_LUA").is_some() {
        let _ = fs::remove_dir_all(folder());
        fs::create_dir(folder()).unwrap();
        for (name, text) in &composed {
            fs::write(folder().join(name), text).unwrap();
        }
    }
    let written = written();
    assert_eq!(composed.len(), 2 * (Kernel::ALL.len() - 1) + ONCE.len());
    assert_eq!(Vec::from_iter(composed.keys()), Vec::from_iter(written.keys()));
    for (name, text) in composed {
        // The message says what to do, and not hundreds of lines.
        assert!(text == written[&name], "{name} is old: SLUICEGATE_WRITE_LUA=1 cargo test -p sluicegate-lua");
    }
}
