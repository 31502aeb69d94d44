//! The algorithm of a rule and the options that belong to it.

use super::fields::{Checked, Fields};
use super::json::{Json, MAX_WHOLE};
use super::model::{Algorithm, GcraName, Structure, WindowStart};
use super::table::{self, MIN_DECAY_FACTOR};
use crate::text::words::{one_of, quote};

/// Every algorithm, as it is when a rule states no option of it.
pub(super) const DEFAULTS: [Algorithm; 10] = [
    Algorithm::FixedWindow { window_start: WindowStart::Aligned },
    Algorithm::SlidingWindow,
    Algorithm::SlidingLog { structure: Structure::List },
    Algorithm::SlidingBuckets,
    Algorithm::Gcra { name: GcraName::Gcra, burst: None },
    Algorithm::Gcra { name: GcraName::TokenBucket, burst: None },
    Algorithm::Gcra { name: GcraName::LeakyBucket, burst: None },
    Algorithm::Gcra { name: GcraName::Uniform, burst: Some(1) },
    Algorithm::Decay { factor: 2.0 },
    Algorithm::Concurrency,
];

/// That of a rule that names none.
const DEFAULT: Algorithm = Algorithm::Gcra { name: GcraName::Gcra, burst: None };

/// The algorithm of a rule, with its options.
pub(super) fn read(fields: &Fields<'_>) -> Checked<Algorithm> {
    let words = DEFAULTS.map(|algorithm| (algorithm.name(), algorithm));
    let algorithm = fields.word("algorithm", &words)?.unwrap_or(DEFAULT);
    only_its_options(fields, algorithm)?;
    with_options(fields, algorithm)
}

/// Refuses the options of other algorithms, in a rule or in an entry of its `limits`.
pub(super) fn only_its_options(fields: &Fields<'_>, algorithm: Algorithm) -> Checked<()> {
    let name = algorithm.name();
    if algorithm == Algorithm::Concurrency && fields.has("reservations") {
        let option = fields.named("reservations");
        return Err(format!(
            "{option} does not belong to {}, which always has them; leave it out",
            quote(name)
        ));
    }
    for field in table::RULE {
        let owners = field.algorithms;
        if fields.has(field.name) && !owners.is_empty() && !owners.contains(&name) {
            let option = fields.named(field.name);
            return Err(format!(
                "{option} does not belong to {}; leave it out, or use {}",
                quote(name),
                one_of(owners)
            ));
        }
    }
    let instead = match algorithm {
        Algorithm::Decay { .. } => "its time is \"resolution_seconds\"",
        Algorithm::Concurrency => "its time is \"lease_seconds\"",
        _ => return Ok(()),
    };
    if fields.has("window_size_seconds") {
        let option = fields.named("window_size_seconds");
        return Err(format!("{option} does not belong to {}; {instead}", quote(name)));
    }
    Ok(())
}

fn with_options(fields: &Fields<'_>, algorithm: Algorithm) -> Checked<Algorithm> {
    Ok(match algorithm {
        Algorithm::FixedWindow { window_start } => {
            let words = [("aligned", WindowStart::Aligned), ("first_request", WindowStart::FirstRequest)];
            let window_start = fields.word("window_start", &words)?.unwrap_or(window_start);
            Algorithm::FixedWindow { window_start }
        }
        Algorithm::SlidingLog { structure } => {
            let words = [("list", Structure::List), ("sorted_set", Structure::SortedSet)];
            Algorithm::SlidingLog { structure: fields.word("structure", &words)?.unwrap_or(structure) }
        }
        Algorithm::Gcra { name, burst: None } => Algorithm::Gcra { name, burst: burst(fields)? },
        Algorithm::Decay { factor } => {
            let right = format!("a number of at least {MIN_DECAY_FACTOR}");
            let read = |value: &Json| value.number().filter(|factor| *factor >= MIN_DECAY_FACTOR);
            Algorithm::Decay { factor: fields.optional("decay_factor", &right, read)?.unwrap_or(factor) }
        }
        Algorithm::SlidingWindow
        | Algorithm::SlidingBuckets
        | Algorithm::Gcra { .. }
        | Algorithm::Concurrency => algorithm,
    })
}

fn burst(fields: &Fields<'_>) -> Checked<Option<u64>> {
    let right = format!("a whole number from 1 to {MAX_WHOLE}");
    let burst = fields.optional("burst", &right, |value| value.whole(1, MAX_WHOLE))?;
    Ok(burst.map(i64::unsigned_abs))
}
