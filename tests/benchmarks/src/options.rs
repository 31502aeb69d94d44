//! The command line.

use std::fs;
use std::path::PathBuf;

use crate::Result;

pub(crate) const USAGE: &str = "\
usage: sluicegate-benchmarks [--quick] [--only ALGORITHM] [--baseline FOLDER] [PART ...]

parts: server, memory, client, in-memory, matching, tls, cluster, silent, usage, longest, regions, coalescing, denied, leases, failover, lab; all of them if none is named
  --quick             a smoke run of seconds: everything runs, the figures mean nothing
  --only ALGORITHM    of server and memory only the rows that begin with this
  --baseline FOLDER   hand-written scripts to compare with, instead of this crate's own: return1.lua, gcra.lua,
                      fixed_window_ttl.lua, two_window_keys.lua, log_list.lua, log_zset.lua";

/// A table, or a few that belong together.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part {
    Server,
    Memory,
    Client,
    InMemory,
    Matching,
    Tls,
    Cluster,
    Silent,
    Usage,
    Longest,
    Regions,
    Coalescing,
    Denied,
    Leases,
    Failover,
    Lab,
}

const PARTS: [(&str, Part); 16] = [
    ("server", Part::Server),
    ("memory", Part::Memory),
    ("client", Part::Client),
    ("in-memory", Part::InMemory),
    ("matching", Part::Matching),
    ("tls", Part::Tls),
    ("cluster", Part::Cluster),
    ("silent", Part::Silent),
    ("usage", Part::Usage),
    ("longest", Part::Longest),
    ("regions", Part::Regions),
    ("coalescing", Part::Coalescing),
    ("denied", Part::Denied),
    ("leases", Part::Leases),
    ("failover", Part::Failover),
    ("lab", Part::Lab),
];

#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) quick: bool,
    pub(crate) parts: Vec<Part>,
    /// What the name of a measured algorithm begins with.
    only: String,
    baseline: PathBuf,
}

impl Options {
    /// `None` when help was asked for.
    pub(crate) fn read(mut args: impl Iterator<Item = String>) -> Result<Option<Self>> {
        let own = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("baseline");
        let mut options = Self { quick: false, parts: Vec::new(), only: String::new(), baseline: own };
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--help" | "-h" => return Ok(None),
                "--quick" => options.quick = true,
                "--only" => options.only = args.next().ok_or("--only needs an algorithm")?,
                "--baseline" => options.baseline = args.next().ok_or("--baseline needs a folder")?.into(),
                other if PARTS.iter().any(|(name, _)| *name == other) => {
                    options
                        .parts
                        .extend(PARTS.iter().filter(|(name, _)| *name == other).map(|(_, part)| *part));
                }
                other => return Err(format!("{other}: no such part or option\n{USAGE}").into()),
            }
        }
        if options.parts.is_empty() {
            options.parts = PARTS.iter().map(|(_, part)| *part).collect();
        }
        Ok(Some(options))
    }

    /// A size that a smoke run makes small.
    pub(crate) fn size(&self, full: usize) -> usize {
        if self.quick { (full / 100).max(2) } else { full }
    }

    /// Whether the algorithm of this name is measured.
    pub(crate) fn has(&self, name: &str) -> bool {
        name.starts_with(&self.only)
    }

    /// How often everything is measured in turn.
    pub(crate) fn rounds(&self) -> usize {
        if self.quick { 2 } else { 5 }
    }

    /// The text of a hand-written script.
    pub(crate) fn baseline(&self, name: &str) -> Result<String> {
        let path = self.baseline.join(name).with_extension("lua");
        Ok(fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?)
    }

    /// Whose scripts these are, for the report.
    pub(crate) fn baseline_folder(&self) -> String {
        let name = self.baseline.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }
}
