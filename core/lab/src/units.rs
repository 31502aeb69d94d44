//! Times and rates as people write them.

/// Microseconds of every unit of time.
const UNITS: [(&str, f64); 13] = [
    ("us", 1.0),
    ("ms", 1e3),
    ("s", 1e6),
    ("second", 1e6),
    ("seconds", 1e6),
    ("m", 6e7),
    ("min", 6e7),
    ("minute", 6e7),
    ("minutes", 6e7),
    ("h", 3.6e9),
    ("hour", 3.6e9),
    ("d", 8.64e10),
    ("day", 8.64e10),
];

/// Ten years: no run is longer.
const LONGEST_US: f64 = 315_360_000e6;

/// Microseconds of a time such as `250ms`, `1.5s`, `10m`, `1h` or `1d`; `None` for what is no time, or is longer
/// than ten years.
pub fn duration_us(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(digits);
    let us = number.parse::<f64>().ok()? * unit_us(unit)?;
    (0.0..=LONGEST_US).contains(&us).then_some(us.round() as u64)
}

/// Calls per second of a rate such as `100/s`, `20/30s` or `5/minute`; a number alone is per second. `None` for
/// what is no rate above zero.
pub fn rate(text: &str) -> Option<f64> {
    let (count, per) = text.split_once('/').unwrap_or((text, "s"));
    let per_us = unit_us(per).or_else(|| duration_us(per).map(|us| us as f64))?;
    let rate = count.parse::<f64>().ok()? * 1e6 / per_us;
    (rate.is_finite() && rate > 0.0).then_some(rate)
}

fn unit_us(unit: &str) -> Option<f64> {
    UNITS.iter().find(|(name, _)| *name == unit).map(|(_, us)| *us)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        assert_eq!(duration_us("250ms"), Some(250_000));
        assert_eq!(duration_us("1.5s"), Some(1_500_000));
        assert_eq!(duration_us("1h"), Some(3_600_000_000));
        for wrong in ["", "5", "s", "-1s", "1x", "1e9d", "4000d", "1.2.3s"] {
            assert_eq!(duration_us(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn rates_are_read() {
        assert_eq!(rate("100/s"), Some(100.0));
        assert_eq!(rate("100"), Some(100.0));
        assert_eq!(rate("30/minute"), Some(0.5));
        assert_eq!(rate("60/30s"), Some(2.0));
        for wrong in ["", "0/s", "-5/s", "5/", "5/0s", "x/s", "inf"] {
            assert_eq!(rate(wrong), None, "{wrong}");
        }
    }
}
