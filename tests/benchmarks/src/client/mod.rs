//! What the library adds to a bare EVALSHA.

mod asynchronous;
mod blocking;
mod measured;

use redis::{Cmd, cmd};

use crate::Result;
use crate::lab::Lab;
use crate::options::Options;
use crate::recording::{Asked, KEY, Recording};
use measured::Measured;

const RULE: &str = "twelve-bytes";
/// No check is denied: a million an hour, of which a run makes fewer.
const RULES: &str =
    r#"[{"rule_id": "twelve-bytes", "algorithm": "gcra", "limit": 10000000, "window_size_seconds": 3600}]"#;
/// Tasks, or threads with a connection each.
const IN_FLIGHT: usize = 64;
const CALLS_ALONE: usize = 5_000;
const CALLS_TOGETHER: usize = 60_000;
/// What a check may take of the bare call of the same script with one in flight, and of client processor time
/// with many.
const LATENCY_TARGET: f64 = 1.05;
const PROCESSOR_TARGET: f64 = 1.3;

/// A command that is sent bare, or the library's check.
#[derive(Clone)]
enum Call {
    Bare(Cmd),
    Check,
}

/// What is compared, in order: the last is the library, the first what it is measured against.
fn contenders(lab: &mut Lab, options: &Options) -> Result<Vec<(&'static str, Call)>> {
    let recording = Recording::of_check(&lab.tap, RULES, RULE, &Asked::default())?;
    let floor = lab.load_script(&options.baseline("return1")?)?;
    let by_hand = lab.load_script(&options.baseline("gcra")?)?;
    let name = format!("by:hand:{{{KEY}}}");
    let floor = cmd("EVALSHA").arg(floor).arg(1).arg(&name).to_owned();
    let by_hand =
        cmd("EVALSHA").arg(by_hand).arg(1).arg(&name).arg(10_000_000).arg(3_600_000).arg(0).to_owned();
    Ok(vec![
        ("bare `return 1`", Call::Bare(floor)),
        ("bare hand-written gcra", Call::Bare(by_hand)),
        ("bare, the library's script", Call::Bare(recording.command(0)?)),
        ("`check`", Call::Check),
    ])
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let mut lab = Lab::start()?;
    let contenders = contenders(&mut lab, options)?;
    let mut blocking = Measured::new(&contenders);
    let mut asynchronous = Measured::new(&contenders);
    let mut threads = blocking::Bench::new(&lab, options)?;
    let mut tasks = asynchronous::Bench::new(&lab, options)?;
    for _ in 0..options.rounds() {
        for (at, (_, call)) in contenders.iter().enumerate() {
            blocking.push(at, threads.measure(call)?);
            asynchronous.push(at, tasks.measure(call)?);
        }
    }
    println!("\n## Client\n");
    println!("`check` of gcra against bare EVALSHAs on a connection of the `redis` crate. One in");
    println!(
        "flight: {} calls a round, microseconds; {IN_FLIGHT} in flight: {} calls a round.",
        options.size(CALLS_ALONE),
        options.size(CALLS_TOGETHER)
    );
    println!(
        "Processor time is that of the client process. Ratios are to the bare call of the library's script,"
    );
    println!("the targets on `check`: what the library adds to what the server does.\n");
    println!(
        "Blocking: `Connection`, {IN_FLIGHT} threads with one each. It sleeps until the answer comes; `check`"
    );
    println!(
        "looks for it for up to 50 microseconds first, so a ratio below 1 is what falling asleep and being"
    );
    println!("woken takes on this machine.\n\n{}", blocking.table());
    println!("Async: one `MultiplexedConnection`, {IN_FLIGHT} tasks.\n\n{}", asynchronous.table());
    Ok(())
}
