//! Every script that there is, and what the scripts call.

use std::collections::BTreeSet;

use crate::{KernelSet, charge_one, charge_several, each, one, refund, several};

/// Every script that limits of these kernels need, each with a name that is unlike all others.
pub fn scripts(kernels: KernelSet) -> Vec<(String, String)> {
    let mut scripts = Vec::new();
    let mut add = |what: &str, names: &str, text| scripts.push((format!("{what}_{names}"), text));
    for kernel in kernels.iter() {
        add("check", kernel.name(), one(kernel));
        add("each", kernel.name(), each(kernel));
        add("charge", kernel.name(), charge_one(kernel));
    }
    let names: Vec<_> = kernels.iter().map(|kernel| kernel.name()).collect();
    let names = names.join("_and_");
    add("check_several", &names, several(kernels));
    add("charge_several", &names, charge_several(kernels));
    add("refund", &names, refund(kernels));
    scripts
}

/// The commands of Redis that these scripts call, in lower case: what a user must be allowed to say.
pub fn commands(kernels: KernelSet) -> BTreeSet<String> {
    scripts(kernels).iter().flat_map(|(_, text)| called(text)).collect()
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
    use crate::Kernel;

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
        assert_eq!(found, commands(all()));
    }

    /// A call whose command is not a literal could not be listed.
    #[test]
    fn every_call_names_its_command() {
        for (name, text) in scripts(all()) {
            // Lua's own, of a function.
            let text = text.replace("pcall(decide", "");
            assert_eq!(text.matches("call(").count(), text.matches("call('").count(), "{name}");
        }
    }

    #[test]
    fn a_counter_needs_no_command_of_lists() {
        let gcra: Vec<_> = commands(KernelSet::default().with(Kernel::Gcra)).into_iter().collect();
        assert_eq!(gcra, ["del", "get", "set", "setrange", "time"]);
    }
}
