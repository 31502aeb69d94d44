//! Where and when: the head of the report.

use std::fs;
use std::process::Command;
use std::thread::available_parallelism;

use crate::Result;
use crate::lab::Lab;
use crate::options::Options;

pub(crate) fn describe(options: &Options) -> Result<()> {
    let cores = available_parallelism().map_or(1, usize::from);
    println!("- Date: {}", date());
    println!("- Machine: {cores} cores, {}; load average before the run {}", processor(), load());
    println!("- redis-server {} on loopback", Lab::start()?.version()?);
    println!("- Hand-written scripts: `{}`", options.baseline_folder());
    println!("- Every figure is the median of {} rounds, with the least and the most", options.rounds());
    if options.quick {
        println!("- A smoke run: the figures mean nothing");
    }
    Ok(())
}

fn date() -> String {
    let output = Command::new("date").args(["-u", "+%Y-%m-%d %H:%M UTC"]).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.unwrap_or_else(|_| "unknown".to_owned())
}

fn processor() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    model.map_or("unknown processor", |(_, model)| model).to_owned()
}

fn load() -> String {
    let loadavg = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    loadavg.split(' ').next().unwrap_or("unknown").to_owned()
}
