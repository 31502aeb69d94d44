//! Every script that there is, and what the scripts call.

use std::collections::BTreeSet;

use crate::{
    Kernel, KernelSet, allotment, charge_one, charge_several, each, ending, forget, key_record, one, refund,
    repeatable, several, up_to,
};

/// Every script that limits of these kernels need, each with a name that is unlike all others. `held`: also those for
/// limits beside which reservations are held; `concurrency` has no others. `stands`: also those for rules whose keys may be
/// blocked, or have limits of their own.
pub fn scripts(kernels: KernelSet, held: bool, key_records: bool) -> Vec<(String, String)> {
    let mut scripts = Vec::new();
    let mut add = |what: &str, names: &str, text| scripts.push((format!("{what}_{names}"), text));
    let plain = kernels
        .iter()
        .filter(|kernel| *kernel != Kernel::Concurrency)
        .fold(KernelSet::default(), KernelSet::with);
    for kernel in plain.iter() {
        add("check", kernel.name(), one(kernel));
        add("each", kernel.name(), each(kernel));
        add("up_to", kernel.name(), up_to(kernel));
        add("charge", kernel.name(), charge_one(kernel));
        // Every other script becomes repeatable in the same way.
        add("repeatable_check", kernel.name(), repeatable(&one(kernel)));
        if allotment::LENDING.contains(&kernel) {
            add("lend", kernel.name(), allotment::lend(kernel));
        }
    }
    let lends = allotment::LENDING.into_iter().any(|kernel| plain.has(kernel));
    if lends {
        add("allotment", "spend", allotment::spend());
        add("allotment", "deposit", allotment::deposit());
        add("allotment", "terms", allotment::TERMS.to_owned());
    }
    let named = |kernels: KernelSet| {
        let names: Vec<_> = kernels.iter().map(|kernel| kernel.name()).collect();
        names.join("_and_")
    };
    let names = named(plain);
    add("check_several", &names, several(plain));
    if lends {
        add("allotment_several", &names, allotment::several(plain));
    }
    add("charge_several", &names, charge_several(plain));
    add("refund", &names, refund(plain));
    if held {
        let names = named(kernels);
        add("held", &names, crate::held(kernels));
        add("ending", &names, ending(kernels));
        add("forget", "held", forget());
    }
    if key_records {
        for kernel in plain.iter() {
            add("key_record_check", kernel.name(), key_record::one(kernel));
        }
        let names = named(kernels);
        add("key_record", &names, key_record::held(kernels));
        add("key_record_forget", "held", key_record::forget());
        add("key_record", "change", key_record::change());
        if held {
            add("key_record_ending", &names, key_record::ending(kernels));
        }
    }
    scripts
}

/// The commands of Redis that these scripts call, in lower case: what a user must be allowed to say.
pub fn commands(kernels: KernelSet, held: bool, key_records: bool) -> BTreeSet<String> {
    let mut scripts = scripts(kernels, held, key_records);
    // Where nothing is ever held, these call what is in the others too.
    scripts.retain(|(name, _)| {
        held || !name.starts_with("key_record_") || name.starts_with("key_record_check_")
    });
    scripts.iter().flat_map(|(_, text)| called(text)).collect()
}

/// The names that stand in `call('NAME'`.
fn called(text: &str) -> impl Iterator<Item = String> {
    let names = text.split("call('").skip(1).filter_map(|rest| rest.split('\'').next());
    names.map(str::to_ascii_lowercase)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn all() -> KernelSet {
        Kernel::ALL.into_iter().fold(KernelSet::default(), KernelSet::with)
    }

    fn collect(folder: &Path, text: &mut String) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, text);
            } else if path.extension().is_some_and(|extension| extension == "lua") {
                text.push_str(&fs::read_to_string(path).unwrap());
            }
        }
    }

    /// A fragment that no listed script contains would call what no user is allowed.
    #[test]
    fn every_command_of_the_sources_is_listed() {
        let mut sources = String::new();
        collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut sources);
        let found: BTreeSet<_> = called(&sources).collect();
        assert!(found.len() > 20);
        assert_eq!(found, commands(all(), true, true));
    }

    /// A call whose command is not a literal could not be listed.
    #[test]
    fn every_call_names_its_command() {
        for (name, text) in scripts(all(), true, true) {
            // Lua's own, of a function.
            let text = text.replace("pcall(decide", "");
            assert_eq!(text.matches("call(").count(), text.matches("call('").count(), "{name}");
        }
    }

    #[test]
    fn a_counter_needs_no_command_of_lists() {
        let gcra: Vec<_> =
            commands(KernelSet::default().with(Kernel::Gcra), false, false).into_iter().collect();
        assert_eq!(gcra, ["del", "get", "pttl", "set", "setrange", "time"]);
    }
}
