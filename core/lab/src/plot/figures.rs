//! Numbers and times as labels.

const SECOND: u64 = 1_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Distances between marks of a time axis.
const STEPS: [u64; 30] = [
    1_000,
    2_000,
    5_000,
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    SECOND,
    2 * SECOND,
    5 * SECOND,
    10 * SECOND,
    20 * SECOND,
    30 * SECOND,
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    20 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    4 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
    2 * DAY,
    7 * DAY,
    30 * DAY,
];

/// The distance of marks, of which there are to be at most `most`.
pub(super) fn time_step(length_us: u64, most: u64) -> u64 {
    let fits = |step: &u64| length_us / step <= most;
    STEPS.into_iter().find(fits).unwrap_or_else(|| length_us.div_ceil(most * DAY).max(1) * DAY)
}

/// A span of time in its largest unit.
pub(super) fn span(us: u64) -> String {
    match us {
        0 => "0 s".to_owned(),
        us if us.is_multiple_of(DAY) => mark(us, DAY * 2),
        us if us.is_multiple_of(HOUR) => mark(us, HOUR * 2),
        us => mark(us, us),
    }
}

/// Units of time, and from which length on each is used.
const UNITS: [(u64, &str, u64); 6] = [
    (DAY, "d", 2 * DAY),
    (HOUR, "h", 2 * HOUR),
    (MINUTE, "min", 2 * MINUTE),
    (SECOND, "s", SECOND),
    (1_000, "ms", 1_000),
    (1, "us", 0),
];

/// A time in the unit of this length.
fn mark(us: u64, length_us: u64) -> String {
    in_units(us, length_us, DAY)
}

/// A mark on an axis of this length, all in the largest unit of which their distance is a whole number.
pub(super) fn axis_mark(us: u64, length_us: u64, step_us: u64) -> String {
    let whole = UNITS.into_iter().map(|(unit, ..)| unit).find(|unit| step_us.is_multiple_of(*unit));
    in_units(us, length_us, whole.unwrap_or(1))
}

/// In the unit of a length, or in `most` where that is smaller than it.
fn in_units(us: u64, length_us: u64, most: u64) -> String {
    let fits = |(unit, _, from): &(u64, &str, u64)| length_us >= *from && *unit <= most;
    let (unit, name, _) = UNITS.into_iter().find(fits).unwrap_or((1, "us", 0));
    format!("{} {name}", decimal(us as f64 / unit as f64))
}

/// A time of day, UTC; with the date where marks are days apart.
pub(super) fn clock(us_since_1970: u64, step_us: u64) -> String {
    let minutes = us_since_1970 / MINUTE % 1440;
    let seconds = us_since_1970 / SECOND % 60;
    let (_, month, day) = date(us_since_1970);
    match step_us {
        DAY.. => format!("{month:02}-{day:02}"),
        MINUTE.. => format!("{:02}:{:02}", minutes / 60, minutes % 60),
        _ => format!("{:02}:{:02}:{seconds:02}", minutes / 60, minutes % 60),
    }
}

/// Year, month and day (Hinnant's algorithm, from 1970 on).
pub(super) fn date(us_since_1970: u64) -> (u64, u64, u64) {
    let days = us_since_1970 / DAY + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march = (5 * day_of_year + 2) / 153;
    let month = if march < 10 { march + 3 } else { march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day_of_year - (153 * march + 2) / 5 + 1)
}

/// At most two digits after the point, and none that are zeros.
pub(super) fn decimal(number: f64) -> String {
    let text = if number >= 100.0 { format!("{number:.0}") } else { format!("{number:.2}") };
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// With commas between thousands.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The next of 1, 2, 5, 10, 20, ..., for a scale of values.
pub(super) fn round_scale(number: f64) -> f64 {
    let power = 10f64.powf(number.max(1.0).log10().floor());
    let steps = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    steps.into_iter().map(|digit| digit * power).find(|round| *round >= number).unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels() {
        assert_eq!([span(1_500_000), span(90_000_000), span(3_600_000_000)], ["1.5 s", "90 s", "1 h"]);
        let of_axis = |us: u64| axis_mark(us, 240 * SECOND, 30 * SECOND);
        assert_eq!([of_axis(0), of_axis(30 * SECOND), of_axis(240 * SECOND)], ["0 s", "30 s", "240 s"]);
        assert_eq!(axis_mark(2 * MINUTE, 8 * MINUTE, MINUTE), "2 min");
        assert_eq!(axis_mark(500_000, SECOND, 500_000), "500 ms");
        assert_eq!([count(5), count(1234), count(1_000_000)], ["5", "1,234", "1,000,000"]);
        assert_eq!([decimal(2.0), decimal(0.931), decimal(123.4)], ["2", "0.93", "123"]);
        assert_eq!(round_scale(11.0), 15.0);
    }

    #[test]
    fn dates() {
        assert_eq!(date(1_767_225_600_000_000), (2026, 1, 1));
        assert_eq!(date(951_782_400_000_000), (2000, 2, 29));
        assert_eq!(clock(1_767_225_600_000_000 + 13 * HOUR + 5 * MINUTE, HOUR), "13:05");
    }

    #[test]
    fn axes_have_few_marks() {
        assert_eq!(time_step(60 * SECOND, 8), 10 * SECOND);
        assert_eq!(time_step(HOUR, 8), 10 * MINUTE);
        assert_eq!(time_step(400 * DAY, 8), 50 * DAY);
    }
}
