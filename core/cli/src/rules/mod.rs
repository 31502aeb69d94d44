//! The commands about rules where they are kept.

mod acl;
mod delete;
mod diff;
mod document;
mod faults;
mod list;
mod put;
mod replace;
mod tree;
mod validate;

use std::ffi::OsString;
use std::io::Write;

use acl::Acl;
use clap::Subcommand;
pub(crate) use diff::flat;

use crate::outcome::{CommandError, ExitStatus};

#[derive(Debug, Subcommand)]
pub(crate) enum RulesCommand {
    /// Check rules, and print what is wrong with them
    Validate {
        /// Sources: files, zookeeper://host1:port1,host2:port2/path, or JSON
        #[arg(required = true, value_name = "SOURCE")]
        sources: Vec<OsString>,
    },
    /// Print the JSON Schema of rules, for editors
    Schema,
    /// List rules, and what is refused
    List {
        /// Source: a file, zookeeper://host1:port1,host2:port2/path, or JSON
        source: OsString,
        /// One JSON object per rule and line
        #[arg(long)]
        json: bool,
    },
    /// Print what differs between two sources
    #[command(after_help = "Exit code: 0 the same, 1 different, 2 error.")]
    Diff {
        /// Source of the old rules: a file, zookeeper://host1:port1,host2:port2/path, or JSON
        old: OsString,
        /// Source of the new rules
        new: OsString,
        /// One JSON object per rule and line
        #[arg(long)]
        json: bool,
    },
    /// Print what a Redis user has to be allowed for these rules: the rest of an ACL SETUSER
    Acl(Acl),
    /// Put rules where they are kept: new ones, or in place of those with the same names
    Put {
        /// Where to: a file, or zookeeper://host1:port1,host2:port2/path
        source: OsString,
        /// File with one rule, or with several as a file of rules has them; - for standard input
        rule_file: OsString,
    },
    /// Delete a rule where it is kept
    #[command(after_help = "Exit code: 0 deleted, 1 not wanted after all, 2 error.")]
    Delete {
        /// Where from: a file, or zookeeper://host1:port1,host2:port2/path
        source: OsString,
        /// Name of the rule
        rule_id: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

pub(crate) fn carry_out(command: &RulesCommand, out: &mut impl Write) -> Result<ExitStatus, CommandError> {
    match command {
        RulesCommand::Validate { sources } => validate::validate(sources, out),
        RulesCommand::Schema => {
            out.write_all(sluicegate::rules::schema().as_bytes())?;
            Ok(ExitStatus::Yes)
        }
        RulesCommand::List { source, json } => list::list(source, *json, out),
        RulesCommand::Diff { old, new, json } => diff::diff(old, new, *json, out),
        RulesCommand::Acl(acl) => acl.print(out),
        RulesCommand::Put { source, rule_file } => put::put(source, rule_file, out),
        RulesCommand::Delete { source, rule_id, yes } => delete::delete(source, rule_id, *yes, out),
    }
}
