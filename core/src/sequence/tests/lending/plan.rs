//! What happens in a history.

use std::ops::Range;

use super::demand::Demand;
use crate::random::Random;

/// Times are in microseconds since the beginning.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) limit: f64,
    pub(super) window: f64,
    pub(super) burst: f64,
    /// Whether the limit counts in windows.
    pub(super) is_window: bool,
    pub(super) max_age: f64,
    /// There and back, to each region; the first one is in charge.
    pub(super) trips: Vec<f64>,
    pub(super) demand: Vec<Demand>,
    pub(super) most_cost: u64,
    /// Of a hundred calls with other items, so many are refused by those; 0: no call has others.
    pub(super) others: u64,
    pub(super) lasts: f64,
    /// The clock of each region's servers is ahead by so much.
    pub(super) clocks: Vec<f64>,
    /// A region, and when nothing passes between it and the one in charge: on the way there, and on the way back.
    pub(super) cuts: Vec<(usize, Range<f64>, [bool; 2])>,
    /// When the server of a region forgets everything.
    pub(super) losses: Vec<(usize, f64)>,
    /// When the clock of a region steps back, and by how much.
    pub(super) steps_back: Vec<(usize, f64, f64)>,
    /// When the processes of a region end, and others begin: what is on its way to them nobody receives.
    pub(super) restarts: Vec<(usize, f64)>,
    /// When half of the processes have a map by which the second region is in charge.
    pub(super) second_map: Option<Range<f64>>,
}

impl Plan {
    /// One in which nothing goes wrong, and the burst is the limit.
    pub(super) fn calm(limit: f64, window: f64, trip: f64, demand: &[Demand], lasts: f64) -> Self {
        Self {
            limit,
            window,
            burst: limit,
            is_window: false,
            max_age: f64::min(2e6, window),
            trips: vec![trip; demand.len()],
            demand: demand.to_vec(),
            most_cost: 1,
            others: 0,
            lasts,
            clocks: vec![0.0; demand.len()],
            cuts: Vec::new(),
            losses: Vec::new(),
            steps_back: Vec::new(),
            restarts: Vec::new(),
            second_map: None,
        }
    }

    pub(super) fn random(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut below = |end: u64| random.below(end) as f64;
        let regions = 2 + below(4) as usize;
        let lasts = 6e6 + below(14) * 1e6;
        let limit = 20.0 + below(1_500);
        let window = [1e6, 2e6, 5e6, 60e6][below(4) as usize];
        let is_window = below(3) == 0.0;
        let burst = if is_window || below(2) == 0.0 { limit } else { 1.0 + below(limit as u64) };
        let max_age = f64::min(window, [50e3, 200e3, 2e6, 2e6][below(4) as usize]);
        let trips = (0..regions).map(|_| 1e3 + below(299_000)).collect();
        let per_second = limit / window * 1e6;
        let demand = (0..regions)
            .map(|_| match below(6) as u64 {
                0 => Demand::None,
                1 => Demand::Moving(f64::min(per_second * 2.0, 3_000.0), below(2) as u64),
                2 => Demand::Hoards(500e3 + below(4_000_000)),
                3 => Demand::Bursts(f64::min(limit, 500.0)),
                _ => Demand::Steady(f64::min(per_second * (0.3 + below(20) / 10.0), 2_000.0)),
            })
            .collect();
        let most_cost = 1 + below(3) as u64;
        let clocks = (0..regions).map(|_| below(600) * 1e6).collect();
        let far = |place: f64| 1 + place as usize % (regions - 1);
        let mut cuts = Vec::new();
        let mut losses = Vec::new();
        let mut steps_back = Vec::new();
        for _ in 0..below(4) as u64 {
            let (from, span) = (below(lasts as u64), below(3_000_000));
            cuts.push((
                far(below(4)),
                from..from + span,
                [[true, false], [false, true], [true; 2]][below(3) as usize],
            ));
        }
        for _ in 0..below(3) as u64 {
            losses.push((below(regions as u64) as usize, below(lasts as u64)));
        }
        let others = [0, 10, 60][below(3) as usize];
        if below(4) == 0.0 {
            steps_back.push((far(below(4)), below(lasts as u64), below(2_000_000)));
        }
        let mut restarts = Vec::new();
        for _ in 0..below(8).min(3.0) as u64 {
            restarts.push((far(below(4)), below(lasts as u64)));
        }
        let second_map = (below(4) == 0.0).then(|| {
            let from = below(lasts as u64);
            from..from + below(lasts as u64)
        });
        Self {
            limit,
            window,
            burst,
            is_window,
            max_age,
            trips,
            demand,
            most_cost,
            others,
            lasts,
            clocks,
            cuts,
            losses,
            steps_back,
            restarts,
            second_map,
        }
    }

    /// Units that the limit admits anew.
    pub(super) fn per_us(&self) -> f64 {
        if self.is_window { 0.0 } else { self.limit / self.window }
    }

    pub(super) fn is_cut(&self, region: usize, at: f64, way: usize) -> bool {
        self.cuts.iter().any(|(cut, when, ways)| *cut == region && when.contains(&at) && ways[way])
    }

    /// Whether the processes of a region have ended between these times.
    pub(super) fn is_restarted(&self, region: usize, from: f64, at: f64) -> bool {
        self.restarts.iter().any(|(place, when)| *place == region && (from..=at).contains(when))
    }

    /// What each region may use of the limit while it is cut off.
    pub(super) fn part(&self) -> f64 {
        1.0 / self.trips.len() as f64
    }

    /// How many maps of the regions are in use, at times.
    pub(super) fn maps(&self) -> usize {
        1 + usize::from(self.second_map.is_some())
    }

    /// The time of a region's servers.
    pub(super) fn clock(&self, region: usize, at: f64) -> f64 {
        const START: f64 = 1.7e15;
        let stepped = self.steps_back.iter().filter(|(place, when, _)| *place == region && at >= *when);
        START + self.clocks[region] + at - stepped.map(|(_, _, step)| step).sum::<f64>()
    }

    pub(super) fn rule(&self) -> String {
        let (limit, window, age) = (self.limit, self.window / 1e6, self.max_age / 1e3);
        let how = if self.is_window {
            r#""algorithm": "fixed_window""#.to_owned()
        } else {
            format!(r#""burst": {}"#, self.burst)
        };
        format!(
            r#"[{{"rule_id": "r", "limit": {limit}, "window_size_seconds": {window}, "global": {{"max_age_ms": {age}}}, {how}}}]"#
        )
    }
}
