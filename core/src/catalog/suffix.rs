//! The last part of the name of a limit's state.

use crate::rules::{Algorithm, CalendarWindow, Limit, Rule, Scope, Structure, WindowStart};

/// Algorithm and window.
pub(super) fn suffix(rule: &Rule, limit: &Limit) -> String {
    let window = span(limit.window_us);
    let shape = match (rule.algorithm, limit.calendar) {
        (_, Some(calendar)) => calendar_suffix(calendar),
        (Algorithm::FixedWindow { window_start: WindowStart::Aligned }, None) => format!("f{window}"),
        (Algorithm::FixedWindow { window_start: WindowStart::FirstRequest }, None) => format!("ff{window}"),
        (Algorithm::SlidingWindow, None) => format!("s{window}"),
        (Algorithm::SlidingLog { structure: Structure::List }, None) => format!("l{window}"),
        (Algorithm::SlidingLog { structure: Structure::SortedSet }, None) => format!("z{window}"),
        (Algorithm::SlidingBuckets, None) => format!("b{window}-{}", span(limit.resolution_us)),
        (Algorithm::Gcra { .. }, None) => format!("gt{window}"),
        (Algorithm::Decay { .. }, None) => format!("d{}", span(limit.resolution_us)),
        // Nothing is kept but what is held.
        (Algorithm::Concurrency, None) => "h".to_owned(),
    };
    match limit.scope {
        Scope::Key => shape,
        Scope::Resource => shape + ".r",
    }
}

/// Unit, first day of months and time zone, as far as they are not the defaults.
fn calendar_suffix(calendar: CalendarWindow) -> String {
    let CalendarWindow { unit, time_zone, month_start_day, .. } = calendar;
    let day = if month_start_day == 1 { String::new() } else { month_start_day.to_string() };
    let zone = if time_zone == "UTC" { String::new() } else { format!("-{time_zone}") };
    format!("c{}{day}{zone}", unit.name())
}

/// A span of time in the largest unit that states it in whole numbers: names are kept in memory once
/// per key.
fn span(us: u64) -> String {
    const UNITS: [(u64, &str); 5] =
        [(86_400_000_000, "d"), (3_600_000_000, "h"), (60_000_000, "m"), (1_000_000, "s"), (1_000, "ms")];
    match UNITS.into_iter().find(|unit| us.is_multiple_of(unit.0)) {
        Some((length, unit)) => format!("{}{unit}", us / length),
        None => format!("{us}us"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_short() {
        assert_eq!([1, 1_500_000, 60_000_000, 5_400_000_000].map(span), ["1us", "1500ms", "1m", "90m"]);
    }
}
