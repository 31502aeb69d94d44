//! A live view of what processes serve as `prometheus()`: rates per rule, breakers, round trips, errors.

mod counts;
mod figures;
mod http;
mod page;
mod process;
mod rates;
mod screen;
mod view;

use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args as ClapArgs;

use crate::outcome::{CommandError, ExitStatus};
use http::Target;
use process::Process;
use rates::Rates;
use screen::Screen;

const FASTEST: Duration = Duration::from_millis(100);
const SLOWEST: Duration = Duration::from_secs(3600);

/// The processes to look at.
#[derive(Debug, ClapArgs)]
pub(crate) struct TopArgs {
    /// Where a process serves its metrics, such as http://127.0.0.1:9100/metrics; repeat it for each process
    #[arg(required = true, value_name = "URL")]
    urls: Vec<Target>,
    /// Seconds between two reads
    #[arg(long, default_value = "2", value_name = "SECONDS", value_parser = interval)]
    every: Duration,
    /// Read twice, print one table and end
    #[arg(long)]
    once: bool,
}

/// Seconds, or a time as other commands take it (`500ms`).
fn interval(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().map(Duration::try_from_secs_f64);
    let parsed = seconds.map_or_else(|| humantime::parse_duration(text).ok(), Result::ok);
    let allowed = parsed.filter(|every| (FASTEST..=SLOWEST).contains(every));
    allowed.ok_or_else(|| "it has to be a number of seconds from 0.1 to 3600".to_owned())
}

pub(crate) fn top(args: &TopArgs, out: &mut impl Write) -> Result<ExitStatus, CommandError> {
    let mut processes: Vec<Process<'_>> = args.urls.iter().map(Process::new).collect();
    let mut screen = Screen::new(!args.once);
    let mut began = Instant::now();
    read(&mut processes);
    if args.once {
        some(&processes)?;
    }
    loop {
        thread::sleep(args.every.saturating_sub(began.elapsed()));
        began = Instant::now();
        let rates = read(&mut processes);
        if args.once {
            some(&processes)?;
        }
        let lines = view::lines(&processes, &rates, screen.is_drawn);
        screen.show(out, &lines)?;
        if args.once {
            return Ok(ExitStatus::of(rates.processes == processes.len()));
        }
    }
}

/// An error if no process could be read.
fn some(processes: &[Process<'_>]) -> Result<(), CommandError> {
    match processes.iter().all(|process| process.failure.is_some()) {
        true => Err(CommandError::Other(view::failures(processes).join("; "))),
        false => Ok(()),
    }
}

/// Reads all processes at once, and sums what they did since the read before.
fn read(processes: &mut [Process<'_>]) -> Rates {
    thread::scope(|scope| {
        processes.iter_mut().for_each(|process| drop(scope.spawn(|| process.read())));
    });
    let mut rates = Rates::default();
    processes.iter().filter_map(Process::interval).for_each(|interval| rates.add(&interval));
    rates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_in_seconds_or_has_a_unit() {
        assert_eq!(interval("2"), Ok(Duration::from_secs(2)));
        assert_eq!(interval("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(interval("500ms"), Ok(Duration::from_millis(500)));
        for refused in ["0", "0.01", "-1", "nan", "inf", "1e300", "3601", "soon", ""] {
            assert!(interval(refused).is_err(), "{refused}");
        }
    }
}
