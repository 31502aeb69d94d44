//! Server time per check, as the server itself accounts for it.

mod case;
mod contender;

use crate::Result;
use crate::lab::Lab;
use crate::options::Options;
use crate::samples::{Samples, verdict};
use crate::table::Table;
use case::{CASES, Case, Story};
use contender::Contender;

/// What a denied check may take of an admitted one.
const DENIED_TARGET: f64 = 0.8;
const CALLS_PER_ROUND: usize = 20_000;
const KEYS: usize = 10_000;

/// A case with all that is measured for it.
struct Contest {
    case: Case,
    ours: [Contender; 2],
    by_hand: [Contender; 2],
}

impl Contest {
    fn new(lab: &mut Lab, options: &Options, number: usize, case: Case) -> Result<Self> {
        let ours = Contender::ours(lab, &case, &format!("bench-{number:06}"))?;
        let text = options.baseline(case.baseline)?;
        // A name as long as ours, of another key.
        let name = ours[0].name()?.replace("bench-", "hands-");
        let by_hand = Contender::by_hand(lab, &case, &text, &name)?;
        Ok(Self { case, ours, by_hand })
    }

    fn contenders(&mut self) -> impl Iterator<Item = &mut Contender> {
        self.ours.iter_mut().chain(&mut self.by_hand)
    }
}

pub(crate) fn run(options: &Options) -> Result<()> {
    println!("\n## Server time per check\n");
    println!(
        "Microseconds per EVALSHA by `INFO commandstats`, {} calls each.\n",
        calls(options) * options.rounds()
    );
    hot(options)?;
    spread(options)
}

fn calls(options: &Options) -> usize {
    options.size(CALLS_PER_ROUND)
}

/// One key, in the state of the case.
fn hot(options: &Options) -> Result<()> {
    let mut lab = Lab::start()?;
    let mut floor = Contender::floor(&mut lab, &options.baseline("return1")?)?;
    let contests = CASES.into_iter().filter(|case| options.has(case.name)).enumerate();
    let contests = contests.map(|(number, case)| Contest::new(&mut lab, options, number, case));
    let mut contests = contests.collect::<Result<Vec<_>>>()?;
    for round in 0..options.rounds() {
        floor.measure(&mut lab, round, calls(options))?;
        for contender in contests.iter_mut().flat_map(Contest::contenders) {
            contender.measure(&mut lab, round, calls(options))?;
        }
    }
    println!("One hot key (a log that is not full: several).\n\n{}", admitted(&floor.micros, &contests));
    println!("{}", denied(&contests));
    Ok(())
}

fn admitted(floor: &Samples, contests: &[Contest]) -> Table {
    let columns = ["admitted", "us", "x return 1", "by hand", "us by hand", "ratio", "target"];
    let mut table = Table::new(&columns);
    table.row(["`return 1`".to_owned(), floor.to_string(), "1".to_owned()]);
    for Contest { case, ours: [ours, _], by_hand: [by_hand, _] } in contests {
        let ratio = ours.micros.over(&by_hand.micros);
        table.row([
            case.name.to_owned(),
            ours.micros.to_string(),
            format!("{:.1}", ours.micros.over(floor).median()),
            case.baseline.to_owned(),
            by_hand.micros.to_string(),
            ratio.to_string(),
            verdict(ratio.median(), case.target),
        ]);
    }
    table
}

fn denied(contests: &[Contest]) -> Table {
    let columns = ["denied", "us", "of admitted", "target", "us by hand", "of admitted by hand"];
    let mut table = Table::new(&columns);
    // A full log is a full log: the other case measures it.
    let contests = contests.iter().filter(|contest| contest.case.story != Story::Steady);
    for Contest { case, ours: [admitted, denied], by_hand: [admitted_by_hand, denied_by_hand] } in contests {
        let ratio = denied.micros.over(&admitted.micros);
        table.row([
            case.name.to_owned(),
            denied.micros.to_string(),
            ratio.to_string(),
            verdict(ratio.median(), DENIED_TARGET),
            denied_by_hand.micros.to_string(),
            denied_by_hand.micros.over(&admitted_by_hand.micros).to_string(),
        ]);
    }
    table
}

/// Many keys in turn: the state is rarely in the processor's caches.
fn spread(options: &Options) -> Result<()> {
    let mut lab = Lab::start()?;
    let keys = options.size(KEYS);
    let mut pairs = Vec::new();
    let one_key_only = [Story::Steady, Story::EverySlot];
    let cases =
        CASES.into_iter().filter(|case| !one_key_only.contains(&case.story) && options.has(case.name));
    for (number, case) in cases.enumerate() {
        let Contest { case, ours: [ours, _], by_hand: [by_hand, _] } =
            Contest::new(&mut lab, options, number, case)?;
        pairs.push((case, ours.spread(keys), by_hand.spread(keys)));
    }
    for round in 0..options.rounds() {
        for (_, ours, by_hand) in &mut pairs {
            ours.measure(&mut lab, round, calls(options))?;
            by_hand.measure(&mut lab, round, calls(options))?;
        }
    }
    let mut table = Table::new(&["admitted", "us", "by hand", "us by hand", "ratio"]);
    for (case, ours, by_hand) in &pairs {
        let name = case.name.split(':').next().unwrap_or_default().to_owned();
        let ratio = ours.micros.over(&by_hand.micros);
        let baseline = case.baseline.to_owned();
        table.row([name, ours.micros.to_string(), baseline, by_hand.micros.to_string(), ratio.to_string()]);
    }
    println!("{keys} keys in turn.\n\n{table}");
    Ok(())
}
