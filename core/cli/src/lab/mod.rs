//! `sluicegate lab`: what each rule lets through.

mod args;
mod decisions;
mod folder;
#[cfg(feature = "png")]
mod png;
mod progress;
mod record;
mod replay;
mod table;
mod watch;

use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) use args::LabArgs;
use decisions::Decisions;
use folder::OutputFolder;
use record::Recorder;
use sluicegate::Rules;
use sluicegate_lab::{Options, Report, Traffic, simulate};
use watch::Watch;

use crate::outcome::{CommandError, ExitStatus};
use crate::stderr::warn;

/// The default traffic: clients that nothing holds back.
const TRAFFIC: &str = "poisson";

pub(crate) fn lab(args: &LabArgs, out: &mut impl Write) -> Result<ExitStatus, CommandError> {
    let rules = args.rules()?;
    let folder = args.out.as_deref().map(|path| OutputFolder::open(path, args.force)).transpose()?;
    let mut watch = Watch::new(args.url.is_some())?;
    if let (Some(folder), Some(format)) = (&folder, args.decisions) {
        watch.decisions = Some(Decisions::create(folder, format)?);
    }
    if let Some(url) = &args.record {
        watch.recorder = Some(Recorder::open(url, args, &rules)?);
    }
    let report = match &args.replay {
        Some(path) => replay::replay(path, args, &rules, &mut watch)?,
        None => run(args, &rules, &mut watch)?,
    };
    let written = watch.finish();
    if let Some(folder) = &folder {
        folder.write(&report)?;
    }
    written?;
    match args.json {
        true => writeln!(out, "{}", report.summary_json())?,
        false => table::show(out, &report)?,
    }
    if let (Some(folder), false) = (&folder, args.json) {
        writeln!(out, "\n{}", folder.page().display())?;
    }
    if report.interrupted {
        warn("ended before its time; what there was is kept");
    }
    Ok(ExitStatus::of(!report.interrupted))
}

fn run(args: &LabArgs, rules: &Rules, watch: &mut Watch) -> Result<Report, CommandError> {
    let specs = if args.traffic.is_empty() { vec![TRAFFIC.to_owned()] } else { args.traffic.clone() };
    let traffic = Traffic::parse(&specs, rules)?;
    let mut options = Options::default();
    (options.seed, options.bin_us, options.processes) = (args.seed, args.bin, args.processes);
    if let Some(start) = args.start {
        options.start_us = start;
    }
    if let Some(url) = &args.url {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64;
        options.url.clone_from(url);
        options.real_time = true;
        options.start_us = now;
        // What the rules count in production is neither read nor changed.
        options.prefix = args.prefix.clone().or_else(|| Some(format!("sluicegate-lab-{now}")));
    }
    Ok(simulate(rules, &traffic, options, watch)?)
}
