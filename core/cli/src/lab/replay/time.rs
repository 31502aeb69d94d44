//! Times in logs, as microseconds since 1970.

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const SECOND: f64 = 1e6;
/// Ten years: what took longer is no time.
const LONGEST_US: f64 = 315_360_000e6;

/// `10/Oct/2000:13:55:36 -0700`
pub(super) fn of_web_servers(text: &str) -> Option<u64> {
    let (time, offset) = text.split_once(' ')?;
    let (date, clock) = time.split_once(':')?;
    let mut date = date.splitn(3, '/');
    let day = number(date.next()?)?;
    let month = date.next()?;
    let month = MONTHS.iter().zip(1..).find(|(name, _)| **name == month)?.1;
    let days = days(number(date.next()?)?, month, day)?;
    moment(days, clock, offset)
}

/// Seconds, milliseconds or microseconds since 1970, or a time as in RFC 3339, of which the offset may be absent.
pub(super) fn of_anything(text: &str) -> Option<u64> {
    if let Ok(number) = text.parse::<f64>() {
        return of_number(number);
    }
    let (date, rest) = text.split_once(['T', 't', ' '])?;
    let mut date = date.splitn(3, '-');
    let days = days(number(date.next()?)?, number(date.next()?)?, number(date.next()?)?)?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && !matches!(c, ':' | '.' | ',')).unwrap_or(rest.len());
    let (clock, offset) = rest.split_at(end);
    moment(days, clock, offset.trim())
}

/// The size of a number determines its unit.
pub(super) fn of_number(number: f64) -> Option<u64> {
    let us = match number {
        0.0..1e11 => number * SECOND,
        1e11..1e14 => number * 1e3,
        1e14..9e15 => number,
        _ => return None,
    };
    Some(us.round() as u64)
}

/// How long something took: a number of seconds, or of what the name of its column ends with (`duration_ms`), or a time
/// with a unit.
pub(super) fn duration_us(text: &str, column: &str) -> Option<u64> {
    let unit = match column.rsplit(['_', '.']).next() {
        Some("ms") => 1e3,
        Some("us") => 1.0,
        Some("ns") => 1e-3,
        _ => SECOND,
    };
    match text.parse::<f64>() {
        Ok(number) => (0.0..=LONGEST_US).contains(&(number * unit)).then_some((number * unit).round() as u64),
        Err(_) => sluicegate_lab::duration_us(text),
    }
}

/// Days since 1970 (Hinnant's algorithm).
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1970..=2200).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468)
}

/// `13:55:36.25`, and `Z`, `-0700` or `+02:00`.
fn moment(days: i64, clock: &str, offset: &str) -> Option<u64> {
    let mut clock = clock.splitn(3, ':');
    let (hours, minutes) = (number(clock.next()?)?, number(clock.next()?)?);
    let seconds = clock.next().unwrap_or("0");
    let (seconds, fraction) = match seconds.split_once(['.', ',']) {
        Some((seconds, fraction)) => (number(seconds)?, format!("0.{fraction}").parse::<f64>().ok()?),
        None => (number(seconds)?, 0.0),
    };
    if hours > 24 || minutes > 59 || seconds > 60 {
        return None;
    }
    let at = days * 86_400 + hours * 3600 + minutes * 60 + seconds - offset_seconds(offset)?;
    u64::try_from(at).ok().map(|at| at * 1_000_000 + (fraction * SECOND).round() as u64)
}

fn offset_seconds(text: &str) -> Option<i64> {
    let (sign, digits) = match text.split_at_checked(1) {
        None if text.is_empty() => return Some(0),
        None => return None,
        Some(("Z" | "z", "")) => return Some(0),
        Some(("+", digits)) => (1, digits),
        Some(("-", digits)) => (-1, digits),
        Some(_) => return None,
    };
    let (hours, minutes) = match digits.split_once(':') {
        Some(parts) => parts,
        None => digits.split_at_checked(2)?,
    };
    let minutes = if minutes.is_empty() { 0 } else { number(minutes)? };
    Some(sign * (number(hours)? * 3600 + minutes * 60))
}

/// A number without a sign.
fn number(text: &str) -> Option<i64> {
    let is_number = (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_web_servers() {
        assert_eq!(of_web_servers("10/Oct/2000:13:55:36 -0700"), Some(971_211_336_000_000));
        assert_eq!(of_web_servers("01/Jan/1970:00:00:07 +0000"), Some(7_000_000));
        for wrong in ["", "10/Okt/2000:13:55:36 -0700", "10/Oct/2000:25:55:36 -0700", "10/Oct/2000 13:55:36"]
        {
            assert_eq!(of_web_servers(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn durations_have_a_unit() {
        for (text, column) in
            [("0.25", "request_time"), ("250", "duration_ms"), ("250ms", "d"), ("250000000", "took.ns")]
        {
            assert_eq!(duration_us(text, column), Some(250_000), "{text}");
        }
        for wrong in ["", "-", "-1", "NaN", "1e20"] {
            assert_eq!(duration_us(wrong, "duration"), None, "{wrong}");
        }
    }

    #[test]
    fn times_of_everything_else() {
        let expected = Some(971_211_336_250_000);
        for text in [
            "2000-10-10T20:55:36.25Z",
            "2000-10-10 13:55:36.25-07:00",
            "2000-10-10T22:55:36,250+0200",
            "971211336.25",
            "971211336250",
            "971211336250000",
        ] {
            assert_eq!(of_anything(text), expected, "{text}");
        }
        assert_eq!(of_anything("2000-10-10 20:55:36"), Some(971_211_336_000_000));
        for wrong in ["", "now", "2000-13-10T20:55:36Z", "2000-10-10", "-5", "NaN", "2000-10-10T20:55:36é"] {
            assert_eq!(of_anything(wrong), None, "{wrong}");
        }
    }
}
