//! What a traffic spec says, read and completed from the first rule.

use sluicegate::Result;
use sluicegate::rules::{Algorithm, Rules};

use super::duration::CallDuration;
use super::fields::{Fields, refused, unknown, word};
use super::pattern::{ArrivalProcess, Begin};
use super::pick::{Amount, Pick};

/// The words of traffic specs.
pub const WORDS: [&str; 8] = ["steady", "poisson", "burst", "edge", "herd", "greedy", "obedient", "day"];

const COMMON: [&str; 10] =
    ["keys", "zipf", "pick", "cost", "duration", "for", "from", "name", "rule", "resources"];
const MAX_KEYS: u64 = 1_000_000;
const MAX_CLIENTS: u64 = 100_000;
const SECOND_US: u64 = 1_000_000;
const DAY_US: u64 = 86_400 * SECOND_US;

/// One source of calls.
#[derive(Debug, Clone)]
pub(super) struct CallSource {
    pub(super) from_us: u64,
    pub(super) length_us: u64,
    /// The only rule that it calls; all of them otherwise.
    pub(super) rule: Option<String>,
    pub(super) keys: Vec<Box<str>>,
    pub(super) resources: Vec<Box<str>>,
    pub(super) pick: Pick,
    pub(super) cost: Amount,
    /// How long calls are under way, in microseconds.
    pub(super) duration: Option<Amount>,
    pub(super) manner: Workload,
}

/// Whether answers change when calls come.
#[derive(Debug, Clone)]
pub(super) enum Workload {
    Open(ArrivalProcess),
    Clients(Clients),
}

/// Clients with one call each at a time.
#[derive(Debug, Clone)]
pub(super) struct Clients {
    pub(super) count: u64,
    /// Mean time between an admitted call and the next one.
    pub(super) think_us: f64,
    /// How long a call takes, also one that is denied.
    pub(super) pause_us: u64,
    /// Whether they wait for `retry_after` when they are denied.
    pub(super) obedient: bool,
    /// Whether each client has a key of its own.
    pub(super) own_keys: bool,
}

/// What specs leave open follows the first rule: twice its rate, for ten of its windows.
#[derive(Debug, Clone, Copy)]
struct Defaults {
    limit: u64,
    window_us: u64,
}

impl Defaults {
    /// What is in flight has no window: the time that a call takes stands for it.
    fn of(rules: &Rules, duration: Option<Amount>) -> Self {
        let limit = rules.iter().next().and_then(|rule| rule.limits.first());
        let in_flight_us = duration.map_or(SECOND_US, |duration| duration.mean() as u64).max(1);
        let window = |window_us, slot_us| match (window_us, slot_us) {
            (0, 0) => in_flight_us,
            (0, slot_us) => 2 * slot_us,
            (window_us, _) => window_us,
        };
        limit.map_or(Self { limit: 10, window_us: SECOND_US }, |limit| Self {
            limit: (limit.limit as u64).max(1),
            window_us: window(limit.window_us, limit.resolution_us),
        })
    }

    fn rate(self) -> f64 {
        self.limit as f64 / (self.window_us as f64 / 1e6)
    }
}

/// The fields of a word besides the common ones.
fn own_fields(word: &str) -> Option<&'static [&'static str]> {
    Some(match word {
        "steady" | "poisson" => &["rate"],
        "burst" => &["size", "every", "spread"],
        "edge" => &["size", "window", "spread"],
        "herd" => &["every", "spread"],
        "greedy" => &["clients", "pause", "rate"],
        "obedient" => &["clients", "pause", "rate"],
        "day" => &["rate", "peak"],
        _ => return None,
    })
}

impl CallSource {
    pub(super) fn parse(spec: &str, rules: &Rules) -> Result<Self> {
        let (word, _) = word(spec);
        let own = own_fields(word).ok_or_else(|| unknown(spec, "word", word, &WORDS))?;
        let known: Vec<&str> = COMMON.iter().chain(own).copied().collect();
        let fields = Fields::new(spec, &known)?;
        let rule = fields.text("rule").map(str::to_owned);
        if let Some(rule) = &rule {
            rules.find(rule).map_err(|error| refused(spec, error.message()))?;
        }
        let duration = duration(&fields, rules)?;
        let defaults = Defaults::of(rules, duration);
        let clients = fields.number("clients", MAX_CLIENTS)?;
        let keys = fields.number("keys", MAX_KEYS)?;
        let keys = keys.or(clients).unwrap_or(if word == "herd" { 100 } else { 1 });
        let length = if word == "day" { DAY_US } else { 10 * defaults.window_us };
        let resources = fields.number("resources", MAX_KEYS)?.unwrap_or(1);
        Ok(Self {
            from_us: fields.duration("from")?.unwrap_or(0),
            length_us: fields.duration("for")?.unwrap_or(length),
            rule,
            keys: names(fields.text("name").unwrap_or("key"), keys),
            resources: names("resource", resources),
            pick: pick(&fields, keys, word)?,
            cost: fields.read("cost", Amount::RIGHT_COST, Amount::cost)?.unwrap_or(Amount::Fixed(1)),
            duration,
            manner: manner(&fields, word, defaults, keys)?,
        })
    }
}

fn names(name: &str, count: u64) -> Vec<Box<str>> {
    (0..count).map(|number| format!("{name}-{number}").into()).collect()
}

/// How long calls are under way; a second where nothing is said, if some rule limits how many are.
fn duration(fields: &Fields<'_>, rules: &Rules) -> Result<Option<Amount>> {
    let said = fields.read("duration", CallDuration::RIGHT, Amount::duration)?;
    let is_needed = rules.iter().any(|rule| rule.algorithm == Algorithm::Concurrency);
    Ok(said.or(is_needed.then_some(Amount::Fixed(SECOND_US))))
}

fn pick(fields: &Fields<'_>, keys: u64, word: &str) -> Result<Pick> {
    if let Some(exponent) = fields.read("zipf", "an exponent from 0 to 10, as in 1.1", |text| {
        text.parse::<f64>().ok().filter(|exponent| (0.0..=10.0).contains(exponent))
    })? {
        return Ok(Pick::zipf(keys as usize, exponent));
    }
    let pick = fields.read("pick", "uniform or turn", |text| match text {
        "uniform" => Some(Pick::Uniform),
        "turn" => Some(Pick::Turn),
        _ => None,
    })?;
    Ok(pick.unwrap_or(if word == "herd" { Pick::Turn } else { Pick::Uniform }))
}

fn manner(fields: &Fields<'_>, word: &str, defaults: Defaults, keys: u64) -> Result<Workload> {
    let rate = fields.rate()?;
    let gap_us = |default: f64| 1e6 / rate.unwrap_or(default);
    let size = fields.number("size", MAX_KEYS)?.unwrap_or(2 * defaults.limit.min(MAX_KEYS / 2));
    let period_us = fields.period(if word == "edge" { "window" } else { "every" })?;
    let period_us = period_us.unwrap_or(defaults.window_us);
    let spread_us = fields.duration("spread")?.unwrap_or(period_us / 50);
    // Around every other edge: before it, what the window that ends still has; after it, all of the next one.
    let every_us = if word == "edge" { 2 * period_us } else { period_us };
    let batches =
        |size, begin| ArrivalProcess::Batches { size, every_us, spread_us: spread_us.min(every_us), begin };
    Ok(Workload::Open(match word {
        "steady" => ArrivalProcess::Steady { gap_us: gap_us(2.0 * defaults.rate()) },
        "poisson" => ArrivalProcess::Poisson { gap_us: gap_us(2.0 * defaults.rate()) },
        "day" => ArrivalProcess::Day {
            gap_us: gap_us(defaults.rate()),
            peak_us: fields.duration("peak")?.unwrap_or(20 * DAY_US / 24) as f64,
        },
        "burst" => batches(size, Begin::WithTraffic),
        "edge" => batches(size, Begin::AroundEdges),
        "herd" => batches(keys, Begin::WithTraffic),
        _ => return Ok(Workload::Clients(clients(fields, word, defaults, keys)?)),
    }))
}

fn clients(fields: &Fields<'_>, word: &str, defaults: Defaults, keys: u64) -> Result<Clients> {
    let obedient = word == "obedient";
    let count = fields.number("clients", MAX_CLIENTS)?.unwrap_or(keys.min(MAX_CLIENTS));
    let rate = fields.rate()?.or(obedient.then(|| 2.0 * defaults.rate()));
    Ok(Clients {
        count,
        think_us: rate.map_or(0.0, |rate| count as f64 * 1e6 / rate),
        pause_us: fields.period("pause")?.unwrap_or(SECOND_US / 100),
        obedient,
        own_keys: fields.text("pick").is_none() && fields.text("zipf").is_none(),
    })
}
