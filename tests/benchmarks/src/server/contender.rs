//! A command that is measured, with the state it finds.

use redis::cmd;

use super::case::{Case, LOG, STEADY_KEYS, STEADY_PACE, Story};
use crate::Result;
use crate::lab::{Lab, Load};
use crate::recording::{Asked, KEY, NONCE, Recording};
use crate::samples::Samples;

/// The measured keys: one is admitted for ever, the other, far from all others, denied.
const ADMITTED: usize = 0;
const DENIED: usize = 9_000_000;
/// How many calls take a log from half full to full.
const HALF: usize = LOG as usize / 2;
/// Beats after which a log is steady.
const WARM_BEATS: usize = HALF + 10;

pub(crate) struct Contender {
    check: Recording,
    pace: Pace,
    admitted: bool,
    pub(crate) micros: Samples,
}

/// How the measured calls are made, and what comes before them in each round.
enum Pace {
    Hot(usize),
    Spread(usize),
    Steady,
    /// New keys in every round, half filled by the recording, so many calls each.
    Filling(Recording, usize),
}

impl Pace {
    /// `half`, sent so many times, fills a log by half.
    fn of(case: &Case, half: Recording, times: usize) -> Self {
        match case.story {
            Story::Steady => Self::Steady,
            Story::Filling => Self::Filling(half, times),
            Story::Recent | Story::EverySlot => Self::Hot(ADMITTED),
        }
    }
}

impl Contender {
    fn new(check: Recording, pace: Pace, admitted: bool) -> Self {
        Self { check, pace, admitted, micros: Samples::default() }
    }

    /// A script whose calls cost what calling costs.
    pub(crate) fn floor(lab: &mut Lab, text: &str) -> Result<Self> {
        let sha = lab.load_script(text)?;
        let check = Recording::of_command(cmd("EVALSHA").arg(sha).arg(1).arg(KEY));
        Ok(Self::new(check, Pace::Hot(ADMITTED), true))
    }

    /// The library's check, admitted and denied.
    pub(crate) fn ours(lab: &mut Lab, case: &Case, id: &str) -> Result<[Self; 2]> {
        let record = |case: &Case, limit, asked: Asked| {
            Recording::of_check(&lab.tap, &case.rules(id, limit), id, &asked)
        };
        let cost = |cost| Asked { cost, ..Asked::default() };
        let lasting = case.lasting();
        let check = record(case, case.ample(), cost(1))?;
        let denied = record(&lasting, case.reached(), cost(1))?;
        let half = record(case, case.ample(), cost(HALF as u64))?;
        let fill = record(&lasting, case.ample(), cost(case.reached()))?;
        let now_us = Lab::now_us();
        let at = |ago| Asked { cost: 1, now_us: Some(now_us - ago) };
        let past = case.past().into_iter().map(|ago| record(case, case.ample(), at(ago)));
        for earlier in past.collect::<Result<Vec<_>>>()? {
            use_once(lab, &earlier)?;
        }
        lab.replay(&fill, Load::Hot(DENIED), 1)?;
        Ok([Self::new(check, Pace::of(case, half, 1), true), Self::new(denied, Pace::Hot(DENIED), false)])
    }

    /// The script written by hand, admitted and denied.
    pub(crate) fn by_hand(lab: &mut Lab, case: &Case, text: &str, name: &str) -> Result<[Self; 2]> {
        let sha = lab.load_script(text)?;
        let record = |case: &Case, limit: u64, now_ms: u64| {
            let mut evalsha = cmd("EVALSHA");
            let window_ms = case.window().as_millis() as u64;
            evalsha.arg(&sha).arg(1).arg(name).arg(limit).arg(window_ms).arg(now_ms).arg(NONCE);
            Recording::of_command(&evalsha)
        };
        let lasting = case.lasting();
        let check = record(case, case.ample(), 0);
        for ago in case.past() {
            let earlier = record(case, case.ample(), (Lab::now_us() - ago) / 1000);
            use_once(lab, &earlier)?;
        }
        lab.replay(&record(&lasting, case.ample(), 0), Load::Hot(DENIED), case.reached() as usize)?;
        let denied = Self::new(record(&lasting, case.reached(), 0), Pace::Hot(DENIED), false);
        Ok([Self::new(check.clone(), Pace::of(case, check, HALF), true), denied])
    }

    /// The same check for many keys in turn.
    pub(crate) fn spread(self, keys: usize) -> Self {
        Self { pace: Pace::Spread(keys), ..self }
    }

    /// Takes a sample of so many calls.
    pub(crate) fn measure(&mut self, lab: &mut Lab, round: usize, calls: usize) -> Result<()> {
        let load = match &self.pace {
            Pace::Hot(key) => Load::Hot(*key),
            Pace::Spread(keys) => Load::Spread { first: 0, keys: *keys },
            Pace::Steady => {
                let load = Load::Paced(STEADY_KEYS, STEADY_PACE);
                lab.replay(&self.check, load, STEADY_KEYS * WARM_BEATS)?;
                load
            }
            Pace::Filling(half, times) => {
                let keys = calls.div_ceil(HALF);
                let load = Load::Spread { first: ADMITTED + 1 + round * keys, keys };
                lab.replay(half, load, keys * times)?;
                load
            }
        };
        let (micros, outcome) = lab.measure(&self.check, load, calls)?;
        let expected = if self.admitted { outcome.admitted } else { outcome.calls - outcome.admitted };
        // A window may end, and a slow machine may be late, so that a few are decided otherwise.
        if expected * 100 < outcome.calls * 95 {
            let name = self.check.name()?;
            return Err(
                format!("{name}: {} of {} calls were admitted", outcome.admitted, outcome.calls).into()
            );
        }
        self.micros.push(micros);
        Ok(())
    }

    /// The name of the state, for a script by hand to use one as long.
    pub(crate) fn name(&self) -> Result<String> {
        self.check.name()
    }
}

/// Makes a call of the past for both keys.
fn use_once(lab: &mut Lab, earlier: &Recording) -> Result<()> {
    for key in [ADMITTED, DENIED] {
        lab.replay(earlier, Load::Hot(key), 1)?;
    }
    Ok(())
}
