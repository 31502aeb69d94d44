//! What a history of processes that borrow is like.

use crate::algorithm::Micros;
use crate::random::Random;

pub(super) const MS: Micros = 1_000;

/// What a history is like.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting {
    pub(super) algorithm: &'static str,
    pub(super) limit: u64,
    pub(super) burst: u64,
    pub(super) age_ms: u64,
    pub(super) pace_ms: u64,
    pub(super) processes: usize,
    /// Calls a second, of all processes, as a part of the limit.
    pub(super) offered: f64,
    pub(super) is_skewed: bool,
    pub(super) spikes: Option<Spikes>,
    pub(super) most_cost: u64,
    /// One way, at most.
    pub(super) trip: Micros,
    /// What befalls the process that calls, each once in so many calls.
    pub(super) faults: &'static [Fault],
    pub(super) faults_every: u64,
    /// Whether the first process borrows all that it can at every pace, and spends nothing.
    pub(super) hoards: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Fault {
    /// It forgets what it has borrowed, and begins anew.
    Crash,
    /// For a second at most.
    Stop,
    GiveBack,
}

/// Most calls come in spikes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spikes {
    pub(super) lasting: Micros,
    pub(super) every: Micros,
    /// Calls a second between them, as a part of the limit.
    pub(super) beside: f64,
}

impl Spikes {
    pub(super) fn random(random: &mut Random) -> Option<Self> {
        let lasting = (10 + random.below(200)) as Micros * MS;
        let every = lasting + random.below(800) as Micros * MS;
        (random.below(3) == 0).then(|| Self { lasting, every, beside: random.below(5) as f64 / 10.0 })
    }
}

impl Setting {
    /// Ten processes that ask for twice as much as there is.
    pub(super) const BUSY: Self = Self {
        algorithm: "gcra",
        limit: 20_000,
        burst: 2_000,
        age_ms: 20,
        pace_ms: 10,
        processes: 10,
        offered: 2.0,
        is_skewed: false,
        spikes: None,
        most_cost: 1,
        trip: 100,
        faults: &[],
        faults_every: 3_000,
        hoards: false,
    };

    pub(super) fn random(random: &mut Random) -> Self {
        let limit = 200 + random.below(6_000);
        let age_ms = 2 + random.below(80);
        Self {
            algorithm: ["gcra", "gcra", "fixed_window"][random.below(3) as usize],
            limit,
            burst: 1 + random.below(limit),
            age_ms,
            pace_ms: 1 + random.below(age_ms),
            processes: 1 + random.below(10) as usize,
            offered: 0.5 + random.below(16) as f64 / 10.0,
            is_skewed: random.below(2) == 0,
            spikes: Spikes::random(random),
            most_cost: 1 + random.below(3),
            trip: [100, 2_000, 30_000][random.below(3) as usize],
            faults: if random.below(2) == 0 { &[Fault::Crash, Fault::Stop, Fault::GiveBack] } else { &[] },
            faults_every: 3_000,
            hoards: random.below(4) == 0,
        }
    }

    pub(super) fn rule(&self) -> String {
        let Self { algorithm, limit, burst, age_ms, pace_ms, .. } = self;
        let burst = if *algorithm == "gcra" { format!(r#", "burst": {burst}"#) } else { String::new() };
        format!(
            r#"[{{"rule_id": "r", "algorithm": "{algorithm}", "limit": {limit}, "window_size_seconds": 1{burst},
                "lease": {{"max_age_ms": {age_ms}, "pace_ms": {pace_ms}}}}}]"#
        )
    }
}
