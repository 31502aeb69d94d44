//! The command line, as clap reads it.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand};
#[cfg(feature = "manual")]
use clap_complete::Shell;
use sluicegate::sources::TlsFiles;

use crate::asking::{CheckRequest, MatchArgs};
use crate::backend::BackendArgs;
use crate::doctor::DoctorArgs;
use crate::key_record::{BlockArgs, LimitCommand, Subject};
#[cfg(feature = "lab")]
use crate::lab::LabArgs;
use crate::one::{CheckArgs, One, Repeatable, WaitArgs};
use crate::overview::OneKey;
use crate::reserving::{CommitArgs, ReserveArgs, ReservedArgs};
use crate::rules::RulesCommand;
use crate::top::TopArgs;

/// Distributed rate limiter: admit or deny keys by rules.
#[derive(Debug, Parser)]
#[command(name = "sluicegate", version, after_help = "Exit code: 0 all admitted, 1 some denied, 2 error.")]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
}

/// PEM files for every connection with TLS.
#[derive(Debug, ClapArgs)]
pub(crate) struct TlsArgs {
    /// PEM file with the certificate authorities to trust instead of the system's
    #[arg(long, global = true, env = "SLUICEGATE_TLS_CA", value_name = "FILE", help_heading = "TLS")]
    tls_ca: Option<PathBuf>,
    /// PEM file with the certificate chain of this client
    #[arg(long, global = true, env = "SLUICEGATE_TLS_CERT", value_name = "FILE", help_heading = "TLS")]
    tls_cert: Option<PathBuf>,
    /// PEM file with the private key of this client
    #[arg(long, global = true, env = "SLUICEGATE_TLS_KEY", value_name = "FILE", help_heading = "TLS")]
    tls_key: Option<PathBuf>,
}

impl TlsArgs {
    pub(crate) fn files(&self) -> TlsFiles {
        let mut files = TlsFiles::default();
        (files.ca, files.cert, files.key) =
            (self.tls_ca.clone(), self.tls_cert.clone(), self.tls_key.clone());
        files
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Admit a cost for a key, or deny it
    Check(CheckArgs),
    /// Wait until a cost is admitted; deny it as soon as the timeout cannot be met
    Wait(WaitArgs),
    /// Print what a check would answer; changes nothing, needs a server
    Peek(One),
    /// Forget what was counted for a key; needs a server
    Reset(One),
    /// Print what every rule would answer to a check of a key; changes nothing, needs a server
    Inspect(OneKey),
    /// Forget what was counted for a key under every rule; needs a server
    ResetAll(OneKey),
    /// Give back a cost that was not used; needs a server
    #[command(after_help = "Exit code: 0 given back, 1 nothing was counted, 2 error.")]
    Refund(Repeatable),
    /// Count a cost that was used already, also beyond the limit; needs a server
    #[command(after_help = "Exit code: 0 charged, 2 error.")]
    Charge(Repeatable),
    /// Hold a cost until the usage is known, or deny it; needs a server
    Reserve(ReserveArgs),
    /// End a reservation and charge what was used, also beyond the limit; needs a server
    #[command(after_help = "Exit code: 0 committed, 1 the reservation had ended or expired, 2 error.")]
    Commit(CommitArgs),
    /// End a reservation and charge nothing; needs a server
    #[command(after_help = "Exit code: 0 released, 1 the reservation had ended or expired, 2 error.")]
    Release(ReservedArgs),
    /// Renew the lease of a reservation; needs a server
    #[command(after_help = "Exit code: 0 renewed, 1 the reservation had ended or expired, 2 error.")]
    Renew(ReservedArgs),
    /// Deny a key for some time, whatever its limits; needs a server
    #[command(after_help = "Exit code: 0 blocked, 2 error.")]
    Block(BlockArgs),
    /// End the block of a key; needs a server
    #[command(after_help = "Exit code: 0 unblocked, 1 it was not blocked, 2 error.")]
    Unblock(Subject),
    /// Store a limit for a single key, or forget it
    #[command(subcommand)]
    Limit(LimitCommand),
    /// Try the server
    Ping(BackendArgs),
    /// Check whether servers are fit for limits, and print what to change
    #[command(after_help = "Exit code: 0 all is good, 1 there is something to do, 2 error.")]
    Doctor(DoctorArgs),
    /// Show live what processes admit and deny, from the metrics that they serve
    #[command(
        long_about = "Show live what processes admit and deny, from the metrics that they serve: the text of \
                      prometheus(), over HTTP. Several processes are summed. Ctrl-C ends it.",
        after_help = "Exit code, with --once: 0 all processes were read, 1 some were not, 2 none was."
    )]
    Top(TopArgs),
    /// Print the rules that apply to a request; counts nothing
    Match(MatchArgs),
    /// Admit a request by all the rules that apply to it, or deny it
    CheckRequest(CheckRequest),
    /// Show what each rule admits and denies, of simulated traffic or of an access log
    #[cfg(feature = "lab")]
    Lab(Box<LabArgs>),
    /// Look at rules where they are kept, and change them
    #[command(subcommand)]
    Rules(RulesCommand),
    /// Print completions for a shell
    #[cfg(feature = "manual")]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the man page, or write those of all commands to a folder
    #[cfg(feature = "manual")]
    Man {
        /// The folder, which has to exist
        folder: Option<PathBuf>,
    },
}
