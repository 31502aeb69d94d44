//! Bytes per key, by the difference in `used_memory` that many keys make.

use redis::cmd;

use crate::Result;
use crate::lab::{Lab, Load};
use crate::options::Options;
use crate::recording::{Asked, KEY, NONCE, Recording};
use crate::table::Table;

const KEYS: usize = 100_000;
/// Where a key takes many entries, there are fewer keys, so that about this many entries are stored.
const ENTRIES: usize = 2_000_000;
const LIMITS: [u64; 3] = [10, 100, 1000];
const RULE: &str = "twelve-bytes";
const HOUR_US: u64 = 3_600_000_000;
const SLOTS: u64 = 60;
/// What a key of constant size may take, and what each entry of a list may take beyond that.
const KEY_TARGET: f64 = 140.0;
const ENTRY_TARGET: f64 = 12.0;

/// What a key holds when it is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    /// One check's worth; more changes numbers, not their size.
    Constant,
    /// An entry per unit, up to the limit.
    Entries,
    /// A count per slot, as many as a limit admits.
    Slots,
}

struct Case {
    name: &'static str,
    fields: &'static str,
    content: Content,
}

const fn case(name: &'static str, fields: &'static str, content: Content) -> Case {
    Case { name, fields, content }
}

const WINDOW: &str = r#", "window_size_seconds": 3600"#;
const CASES: [Case; 9] = [
    case("gcra", r#""algorithm": "gcra""#, Content::Constant),
    case("fixed_window, aligned", r#""algorithm": "fixed_window""#, Content::Constant),
    case(
        "fixed_window, first_request",
        r#""algorithm": "fixed_window", "window_start": "first_request""#,
        Content::Constant,
    ),
    case("sliding_window", r#""algorithm": "sliding_window""#, Content::Constant),
    case("decay", r#""algorithm": "decay", "resolution_seconds": 3600"#, Content::Constant),
    case("sliding_buckets, one slot used", r#""algorithm": "sliding_buckets""#, Content::Constant),
    case("sliding_buckets, limit used up evenly", r#""algorithm": "sliding_buckets""#, Content::Slots),
    case("sliding_log, list, full", r#""algorithm": "sliding_log""#, Content::Entries),
    case(
        "sliding_log, sorted_set, full",
        r#""algorithm": "sliding_log", "structure": "sorted_set""#,
        Content::Entries,
    ),
];

impl Case {
    fn rules(&self, limit: u64) -> String {
        let window = if self.name == "decay" { "" } else { WINDOW };
        format!(r#"[{{"rule_id": "{RULE}", {}, "limit": {limit}{window}}}]"#, self.fields)
    }

    /// What is sent for each key to fill it.
    fn checks(&self, lab: &Lab, limit: u64) -> Result<Vec<Recording>> {
        let now_us = Lab::now_us();
        let asked: Vec<Asked> = match self.content {
            Content::Constant => vec![Asked::default()],
            Content::Entries => vec![Asked { cost: limit, now_us: None }],
            Content::Slots => {
                let slots = (0..SLOTS.min(limit)).rev();
                let at = |slot| Some(now_us - slot * HOUR_US / SLOTS);
                slots.map(|slot| Asked { cost: 1, now_us: at(slot) }).collect()
            }
        };
        asked.iter().map(|asked| Recording::of_check(&lab.tap, &self.rules(limit), RULE, asked)).collect()
    }

    fn keys(&self, options: &Options, limit: u64) -> usize {
        let entries = match self.content {
            Content::Constant => 1,
            Content::Entries => limit,
            // Each slot is a call, which takes longer than an entry does.
            Content::Slots => 4 * limit.min(SLOTS),
        };
        options.size(KEYS.min(ENTRIES / entries as usize))
    }

    fn verdict(&self, bytes: &[f64; 3]) -> String {
        let (met, target) = match (self.content, self.name) {
            (Content::Constant, name) if !name.starts_with("sliding_buckets") => {
                (bytes.iter().all(|&bytes| bytes <= KEY_TARGET), format!("{KEY_TARGET}"))
            }
            (Content::Entries, name) if name.contains("list") => {
                let allowed = |limit: u64| KEY_TARGET + ENTRY_TARGET * limit as f64;
                let met = bytes.iter().zip(LIMITS).all(|(&bytes, limit)| bytes <= allowed(limit));
                (met, format!("{KEY_TARGET} + {ENTRY_TARGET} an entry"))
            }
            _ => return "none".to_owned(),
        };
        format!("{target} {}", if met { "met" } else { "NOT MET" })
    }
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let mut lab = Lab::start()?;
    let columns = ["algorithm", "limit 10", "limit 100", "limit 1000", "target"];
    let mut table = Table::new(&columns);
    let mut floors = Table::new(&["for comparison, under names as long", "bytes"]);
    for case in CASES.into_iter().filter(|case| options.has(case.name)) {
        let mut bytes = [0.0; 3];
        for (bytes, limit) in bytes.iter_mut().zip(LIMITS) {
            let checks = case.checks(&lab, limit)?;
            *bytes = bytes_per_key(&mut lab, &checks, case.keys(options, limit))?;
        }
        let cells = bytes.iter().zip(LIMITS).map(|(bytes, limit)| {
            let keys = case.keys(options, limit);
            if keys == options.size(KEYS) {
                format!("{bytes:.0}")
            } else {
                format!("{bytes:.0} ({keys} keys)")
            }
        });
        table.row([case.name.to_owned()].into_iter().chain(cells).chain([case.verdict(&bytes)]));
    }
    for (what, command) in comparisons(&mut lab, options)? {
        let bytes = bytes_per_key(&mut lab, &[command], options.size(KEYS))?;
        floors.row([what.to_owned(), format!("{bytes:.0}")]);
    }
    println!("\n## Memory\n");
    println!(
        "Bytes per key on the server: the difference in `used_memory` that {} keys make;",
        options.size(KEYS)
    );
    println!("fewer keys where it says so. Keys and rule names of 12 bytes.\n\n{table}\n{floors}");
    Ok(())
}

/// What a key costs whatever it holds, and what scripts written by hand make of it.
fn comparisons(lab: &mut Lab, options: &Options) -> Result<Vec<(&'static str, Recording)>> {
    let name = format!("sluicegate:{RULE}:{{{KEY}}}:gt1h");
    let mut set = cmd("SET");
    let mut commands = vec![("`SET` of 1", Recording::of_command(set.arg(&name).arg(1)))];
    commands.push(("`SET` of 1 with a lifetime", Recording::of_command(set.arg("PX").arg(3_600_000))));
    let by_hand = [
        ("hand-written gcra", "gcra"),
        ("hand-written fixed window", "fixed_window_ttl"),
        ("hand-written sliding window, one of its two keys", "two_window_keys"),
        ("hand-written log in a list, one entry", "log_list"),
        ("hand-written log in a sorted set, one entry", "log_zset"),
    ];
    for (what, script) in by_hand {
        let sha = lab.load_script(&options.baseline(script)?)?;
        let mut evalsha = cmd("EVALSHA");
        evalsha.arg(sha).arg(1).arg(&name).arg(LIMITS[1]).arg(3_600_000).arg(0).arg(NONCE);
        commands.push((what, Recording::of_command(&evalsha)));
    }
    Ok(commands)
}

fn bytes_per_key(lab: &mut Lab, checks: &[Recording], keys: usize) -> Result<f64> {
    lab.flush()?;
    let before = lab.used_memory()?;
    for check in checks {
        lab.replay(check, Load::Spread { first: 0, keys }, keys)?;
    }
    let bytes = (lab.used_memory()? - before) / keys as f64;
    lab.flush()?;
    Ok(bytes)
}
