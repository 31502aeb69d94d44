//! The windows of a calendar: when days, weeks, months and years begin in a time zone.

use arc_swap::ArcSwap;
use jiff_core::Timestamp;
use jiff_core::civil::{Date, DateTime, Time, UnixEpochDay};
use jiff_core::tz::AmbiguousOffset;
use jiff_core::tz::tzif::TimeZone;

use crate::rules::{CalendarUnit, CalendarWindow, tzif};
use crate::time::clock::Micros;

const SECOND: Micros = 1_000_000;
const DAY_SECONDS: i64 = 86_400;
/// The number of 1970-01-01, where 0001-01-01 (a Monday) is day 1.
const DAY_OF_1970: i64 = 719_163;

/// A window of a calendar. It begins where the one before ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Period {
    /// Counts the windows of one calendar: days since 0001-01-01, months since year 0, and so on. Always above 0.
    pub(crate) number: i64,
    pub(crate) start: Micros,
    pub(crate) end: Micros,
}

/// A window with its neighbours: their bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Around {
    pub(crate) current: Period,
    /// When the window before it began.
    pub(crate) former: Micros,
    /// When the window after it ends.
    pub(crate) later: Micros,
}

/// Days, weeks, months or years in a time zone.
#[derive(Debug)]
pub(crate) struct Calendar {
    window: CalendarWindow,
    /// `None`: UTC.
    zone: Option<TimeZone>,
    /// The window that was asked for last: nearly always the one that is asked for next.
    last: ArcSwap<Around>,
}

impl Calendar {
    pub(crate) fn new(window: CalendarWindow) -> Self {
        // A rule names none but zones that there are.
        let zone = tzif(window.time_zone).and_then(|data| TimeZone::parse(data).ok());
        let nothing = Period { number: 0, start: 0, end: 0 };
        let last = ArcSwap::from_pointee(Around { current: nothing, former: 0, later: 0 });
        Self { window, zone, last }
    }

    /// The window at a time.
    #[inline]
    pub(crate) fn at(&self, now: Micros) -> Period {
        self.around(now).current
    }

    /// The window at a time, and its neighbours.
    #[inline]
    pub(crate) fn around(&self, now: Micros) -> Around {
        let last = **self.last.load();
        if (last.current.start..last.current.end).contains(&now) { last } else { self.look_up(now) }
    }

    #[cold]
    fn look_up(&self, now: Micros) -> Around {
        let mut number = self.number_of(self.local_date(now));
        // Right after midnight the clock may have been set back, to a date that is over.
        while self.start(number + 1) <= now {
            number += 1;
        }
        while self.start(number) > now {
            number -= 1;
        }
        let current = Period { number, start: self.start(number), end: self.start(number + 1) };
        let around = Around { current, former: self.start(number - 1), later: self.start(number + 2) };
        self.last.store(around.into());
        around
    }

    fn local_date(&self, now: Micros) -> Date {
        let second = now.div_euclid(SECOND);
        date_of((second + self.offset(second)).div_euclid(DAY_SECONDS) + DAY_OF_1970)
    }

    /// By how many seconds local time is ahead of UTC.
    fn offset(&self, second: i64) -> i64 {
        let time = Timestamp::from_second(second);
        match (&self.zone, time) {
            (Some(zone), Ok(time)) => zone.to_offset(time).seconds().into(),
            _ => 0,
        }
    }

    /// The window to which a date belongs.
    fn number_of(&self, date: Date) -> i64 {
        let (year, month) = (i64::from(date.year()), i64::from(date.month()));
        match self.window.unit {
            CalendarUnit::Day => day_of(date),
            CalendarUnit::Week => (day_of(date) - 1) / 7 + 1,
            CalendarUnit::Month => {
                let number = year * 12 + month;
                number - i64::from(date < self.first_date(number))
            }
            CalendarUnit::Year => year,
        }
    }

    /// The date at which a window begins. A month that lacks its day begins on its last.
    fn first_date(&self, number: i64) -> Date {
        match self.window.unit {
            CalendarUnit::Day => date_of(number),
            CalendarUnit::Week => date_of((number - 1) * 7 + 1),
            CalendarUnit::Month => {
                let (year, month) = ((number - 1).div_euclid(12), (number - 1).rem_euclid(12) + 1);
                let day = self.window.month_start_day as i8;
                Date::new_constrain(year as i16, month as i8, day).unwrap_or(Date::MAX)
            }
            CalendarUnit::Year => Date::new(number as i16, 1, 1).unwrap_or(Date::MAX),
        }
    }

    /// When a window begins: at midnight. A midnight that does not exist is right after the gap, one that exists twice
    /// is the first.
    fn start(&self, number: i64) -> Micros {
        let date = self.first_date(number);
        let midnight = (day_of(date) - DAY_OF_1970) * DAY_SECONDS;
        let Some(zone) = &self.zone else { return midnight * SECOND };
        let local = DateTime::from_parts(date, Time::MIN);
        let second = match zone.to_ambiguous_timestamp(local).offset() {
            AmbiguousOffset::Unambiguous { offset } | AmbiguousOffset::Fold { before: offset, .. } => {
                midnight - i64::from(offset.seconds())
            }
            // The change is right after what midnight is by the offset after it, or at it.
            AmbiguousOffset::Gap { after, .. } => self.next_change(midnight - i64::from(after.seconds()) - 1),
        };
        second * SECOND
    }

    /// The second at which the next offset begins.
    fn next_change(&self, second: i64) -> i64 {
        let before = self.offset(second);
        let mut change = second;
        while let (Some(zone), Ok(time)) = (&self.zone, Timestamp::from_second(change))
            && let Some(next) = zone.next_transition(time)
        {
            change = next.timestamp().as_second();
            if i64::from(next.offset().seconds()) != before {
                break;
            }
        }
        change
    }
}

fn date_of(day: i64) -> Date {
    UnixEpochDay::new((day - DAY_OF_1970) as i32).map_or(Date::MAX, UnixEpochDay::to_date)
}

fn day_of(date: Date) -> i64 {
    i64::from(date.to_unix_epoch_day().day()) + DAY_OF_1970
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calendar(unit: CalendarUnit, time_zone: &'static str, month_start_day: u8) -> Calendar {
        Calendar::new(CalendarWindow { unit, time_zone, month_start_day })
    }

    /// 2026-01-02T03:04:05Z, or with a fraction.
    fn micros(text: &str) -> Micros {
        let number = |range: std::ops::Range<usize>| text[range].parse::<i64>().unwrap();
        let date = Date::new(number(0..4) as i16, number(5..7) as i8, number(8..10) as i8).unwrap();
        let second = number(11..13) * 3_600 + number(14..16) * 60 + number(17..19);
        let fraction = if text.len() > 20 { number(20..26) } else { 0 };
        ((day_of(date) - DAY_OF_1970) * DAY_SECONDS + second) * SECOND + fraction
    }

    /// The bounds of the window at a time.
    fn bounds(calendar: &Calendar, at: &str) -> [String; 2] {
        let Period { start, end, .. } = calendar.at(micros(at));
        [start, end].map(|at| {
            let second = at.div_euclid(SECOND);
            let (date, time) =
                (date_of(second.div_euclid(DAY_SECONDS) + DAY_OF_1970), second.rem_euclid(DAY_SECONDS));
            format!("{date:?}T{:02}:{:02}:{:02}Z", time / 3_600, time / 60 % 60, time % 60)
        })
    }

    #[test]
    fn windows_follow_each_other_without_a_gap() {
        for unit in [CalendarUnit::Day, CalendarUnit::Week, CalendarUnit::Month, CalendarUnit::Year] {
            let calendar = calendar(unit, "Europe/Berlin", 31);
            let mut around = calendar.around(0);
            for _ in 0..1000 {
                let Around { current, later, .. } = around;
                assert!(current.start < current.end && current.number > 0);
                assert_eq!(calendar.around(current.start), around);
                assert_eq!(calendar.around(current.end - 1), around);
                around = calendar.around(current.end);
                assert_eq!((around.former, around.current.start), (current.start, current.end));
                assert_eq!((around.current.number, around.current.end), (current.number + 1, later));
            }
        }
    }

    #[test]
    fn weeks_begin_on_mondays_and_months_on_their_day_or_their_last() {
        let of = |unit, day| calendar(unit, "UTC", day);
        let week = bounds(&of(CalendarUnit::Week, 1), "2026-01-01T12:00:00Z");
        assert_eq!(week, ["2025-12-29T00:00:00Z", "2026-01-05T00:00:00Z"]);
        let month = bounds(&of(CalendarUnit::Month, 31), "2024-02-29T00:00:00Z");
        assert_eq!(month, ["2024-02-29T00:00:00Z", "2024-03-31T00:00:00Z"]);
        let year = bounds(&of(CalendarUnit::Year, 1), "2026-12-31T23:59:59.999999Z");
        assert_eq!(year, ["2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"]);
    }

    #[test]
    fn midnights_that_do_not_exist_or_exist_twice() {
        let of = |zone, at| bounds(&calendar(CalendarUnit::Day, zone, 1), at);
        // In Beirut clocks went from 00:00 to 01:00, in Havana from 01:00 back to 00:00.
        let beirut = of("Asia/Beirut", "2024-03-31T12:00:00Z");
        assert_eq!(beirut, ["2024-03-30T22:00:00Z", "2024-03-31T21:00:00Z"]);
        let havana = of("America/Havana", "2024-11-03T12:00:00Z");
        assert_eq!(havana, ["2024-11-03T04:00:00Z", "2024-11-04T05:00:00Z"]);
        // In Toronto clocks of 1999 to 2006 changed at 02:00; in Goose Bay, until 2011, a minute after midnight: back
        // to a date that was over already.
        let goose_bay = of("America/Goose_Bay", "2010-11-07T03:30:00Z");
        assert_eq!(goose_bay, ["2010-11-07T03:00:00Z", "2010-11-08T04:00:00Z"]);
        // Samoa had no 30 December 2011.
        let apia = of("Pacific/Apia", "2011-12-30T09:59:59Z");
        assert_eq!(apia, ["2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"]);
        let after = of("Pacific/Apia", "2011-12-30T10:00:00Z");
        assert_eq!(after, ["2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"]);
    }

    #[test]
    fn the_latest_time_has_a_window() {
        for unit in [CalendarUnit::Day, CalendarUnit::Week, CalendarUnit::Month, CalendarUnit::Year] {
            let latest = 1 << 53;
            let Period { start, end, .. } = calendar(unit, "Pacific/Kiritimati", 31).at(latest);
            assert!((start..end).contains(&latest));
        }
    }
}
