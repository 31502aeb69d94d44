//! Figures in few characters.

/// A count per second.
pub(super) fn rate(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        ..0.01 => "<0.01".to_owned(),
        ..1.0 => format!("{value:.2}"),
        ..100.0 => format!("{value:.1}"),
        ..1e4 => format!("{value:.0}"),
        ..1e6 => format!("{:.1}k", value / 1e3),
        ..1e9 => format!("{:.1}M", value / 1e6),
        ..1e12 => format!("{:.1}G", value / 1e9),
        _ => format!("{value:.1e}"),
    }
}

/// A number of things.
pub(super) fn count(value: f64) -> String {
    if value < 1e15 { format!("{value:.0}") } else { format!("{value:.1e}") }
}

pub(super) fn percent(part: Option<f64>) -> String {
    part.map_or("-".to_owned(), |part| format!("{:.1}%", part * 100.0))
}

/// A time in seconds.
pub(super) fn time(seconds: f64) -> String {
    match seconds {
        ..1e-3 => format!("{:.0}us", seconds * 1e6),
        ..1.0 => format!("{:.1}ms", seconds * 1e3),
        _ => format!("{seconds:.1}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        let rates = [0.0, 0.004, 0.25, 12.34, 4321.0, 54_321.0, 2e6, 3e9, 1e300, f64::INFINITY].map(rate);
        assert_eq!(rates, ["0", "<0.01", "0.25", "12.3", "4321", "54.3k", "2.0M", "3.0G", "1.0e300", "inf"]);
        assert_eq!([0.000_25, 0.0025, 2.5].map(time), ["250us", "2.5ms", "2.5s"]);
        assert_eq!(
            [count(3.0), count(1e300), percent(Some(0.125)), percent(None)],
            ["3", "1.0e300", "12.5%", "-"]
        );
    }
}
