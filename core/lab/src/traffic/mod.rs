//! What calls come, and when.

mod duration;
mod fields;
mod given;
mod pattern;
mod pick;
mod source;
mod stream;

pub use duration::CallDuration;
pub use given::Call;
use given::{GivenCalls, Playing};
use sluicegate::Result;
use sluicegate::internal;
use sluicegate::internal::quote;
use sluicegate::rules::{Algorithm, Rules};
use source::CallSource;
pub use source::WORDS;
use stream::CallStream;
pub(super) use stream::{CallResult, DueCall, Reaction};

use super::random::Random;

/// The calls of a run: of several sources at once, or given one by one.
#[derive(Debug, Clone)]
pub struct Traffic {
    specs: Vec<String>,
    kind: TrafficKind,
}

#[derive(Debug, Clone)]
enum TrafficKind {
    Sources(Vec<CallSource>),
    GivenCalls(GivenCalls),
}

impl Traffic {
    /// Reads specs such as `poisson:rate=100/s,keys=1000,zipf=1.1,for=1h`. What a spec leaves open follows the
    /// first of the rules.
    ///
    /// # Errors
    /// [`InvalidArgument`](sluicegate::ErrorKind::InvalidArgument) for a word, a field or a value that is not known,
    /// with the nearest.
    pub fn parse(specs: &[impl AsRef<str>], rules: &Rules) -> Result<Self> {
        let sources =
            specs.iter().map(|spec| CallSource::parse(spec.as_ref(), rules)).collect::<Result<_>>()?;
        let specs = specs.iter().map(|spec| spec.as_ref().to_owned()).collect();
        Ok(Self { specs, kind: TrafficKind::Sources(sources) })
    }

    /// These calls, in order of time.
    pub fn given(calls: impl IntoIterator<Item = Call>) -> Self {
        Self { specs: Vec::new(), kind: TrafficKind::GivenCalls(GivenCalls::new(calls)) }
    }

    /// The specs it was read from.
    pub fn specs(&self) -> &[String] {
        &self.specs
    }

    /// Microseconds from the beginning to the end.
    pub fn length_us(&self) -> u64 {
        match &self.kind {
            TrafficKind::Sources(sources) => {
                sources.iter().map(|source| source.from_us + source.length_us).max().unwrap_or(0)
            }
            TrafficKind::GivenCalls(given) => given.length_us(),
        }
    }

    /// Whether every call says how long it is under way, as rules of `concurrency` need.
    pub(super) fn ensure_durations(&self, rules: &Rules) -> Result<()> {
        let TrafficKind::GivenCalls(given) = &self.kind else { return Ok(()) };
        let Some(rule) = rules.iter().find(|rule| rule.algorithm == Algorithm::Concurrency) else {
            return Ok(());
        };
        given.without_duration().map_or(Ok(()), |place| {
            let reason = format!(
                "call {} has no duration: rule {} limits how many are under way (give each call the time that it takes)",
                place + 1,
                quote(&rule.id)
            );
            Err(internal::invalid_argument(reason))
        })
    }

    /// The calls to one rule, as if nobody else had been called.
    pub(super) fn flows(&self, rule: &str, seed: u64, start_us: u64) -> Vec<Flow<'_>> {
        match &self.kind {
            TrafficKind::GivenCalls(given) => vec![Flow::GivenCalls(given.play())],
            TrafficKind::Sources(sources) => sources
                .iter()
                .zip(0..)
                .map(|(source, number)| CallStream::new(source, Random::stream(seed, number), start_us))
                .filter(|stream| stream.calls(rule))
                .map(Flow::CallStream)
                .collect(),
        }
    }
}

/// The calls of one source during a run; times are microseconds since the beginning of the run.
pub(super) enum Flow<'a> {
    CallStream(CallStream<'a>),
    GivenCalls(Playing<'a>),
}

impl<'a> Flow<'a> {
    /// The first calls: when, and by which caller.
    pub(super) fn begin(&mut self) -> Vec<(u64, u32)> {
        match self {
            Self::CallStream(stream) => stream.begin(),
            Self::GivenCalls(playing) => playing.next().map(|at| (at, 0)).into_iter().collect(),
        }
    }

    pub(super) fn due(&mut self, caller: u32, now_us: u64) -> DueCall<'a> {
        match self {
            Self::CallStream(stream) => stream.due(caller, now_us),
            Self::GivenCalls(playing) => playing.due(),
        }
    }

    pub(super) fn react(&mut self, caller: u32, now_us: u64, answer: CallResult) -> Reaction {
        match self {
            Self::CallStream(stream) => stream.react(caller, now_us, answer),
            Self::GivenCalls(playing) => Reaction { next_us: playing.next(), waited_us: None },
        }
    }
}

#[cfg(test)]
mod tests;
