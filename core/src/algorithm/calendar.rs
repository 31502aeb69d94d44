//! The windows of a calendar: when days, weeks, months and years begin in a time zone.

use arc_swap::ArcSwap;
use jiff::civil::{Date, Time};
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use super::Micros;
use crate::rules::{CalendarUnit, CalendarWindow, tzif};

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
    zone: TimeZone,
    /// The window that was asked for last: nearly always the one that is asked for next.
    last: ArcSwap<Around>,
}

impl Calendar {
    pub(crate) fn new(window: CalendarWindow) -> Self {
        let zone = tzif(window.time_zone).and_then(|(name, data)| TimeZone::tzif(name, data).ok());
        let nothing = Period { number: 0, start: 0, end: 0 };
        let last = ArcSwap::from_pointee(Around { current: nothing, former: 0, later: 0 });
        // A rule names none but zones that there are.
        Self { window, zone: zone.unwrap_or(TimeZone::UTC), last }
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
        let now = Timestamp::from_microsecond(now).unwrap_or_default();
        self.zone.to_datetime(now).date()
    }

    /// The window to which a date belongs.
    fn number_of(&self, date: Date) -> i64 {
        match self.window.unit {
            CalendarUnit::Day => day_number(date),
            CalendarUnit::Week => (day_number(date) - 1) / 7 + 1,
            CalendarUnit::Month => {
                let month = i64::from(date.year()) * 12 + i64::from(date.month());
                month - i64::from(date.day() < self.first_day_of_month(date))
            }
            CalendarUnit::Year => i64::from(date.year()),
        }
    }

    /// The day at which a month's window begins: in a month that lacks it, the last.
    fn first_day_of_month(&self, month: Date) -> i8 {
        (self.window.month_start_day as i8).min(month.days_in_month())
    }

    /// The date at which a window begins.
    fn first_date(&self, number: i64) -> Date {
        match self.window.unit {
            CalendarUnit::Day => date_of(number),
            CalendarUnit::Week => date_of((number - 1) * 7 + 1),
            CalendarUnit::Month => {
                let month = date((number - 1).div_euclid(12), (number - 1).rem_euclid(12) + 1);
                let day = self.first_day_of_month(month);
                month.with().day(day).build().unwrap_or(month)
            }
            CalendarUnit::Year => date(number, 1),
        }
    }

    /// When a window begins: at midnight. A midnight that does not exist is right after the gap, one that exists twice
    /// is the first.
    fn start(&self, number: i64) -> Micros {
        let midnight = self.first_date(number).to_datetime(Time::midnight());
        let at = |offset: Offset| offset.to_timestamp(midnight).unwrap_or(Timestamp::MAX);
        let start = match self.zone.to_ambiguous_timestamp(midnight).offset() {
            AmbiguousOffset::Unambiguous { offset } | AmbiguousOffset::Fold { before: offset, .. } => {
                at(offset)
            }
            AmbiguousOffset::Gap { before, after } => {
                let mut changes = self.zone.following(at(after) - SignedDuration::from_nanos(1));
                let change = changes.find(|change| change.offset() == after);
                change.map_or(at(before), |change| change.timestamp())
            }
        };
        start.as_microsecond()
    }
}

/// The first of a month.
fn date(year: i64, month: i64) -> Date {
    Date::new(year as i16, month as i8, 1).unwrap_or(Date::MAX)
}

fn date_of(day: i64) -> Date {
    let midnight = Timestamp::from_second((day - DAY_OF_1970) * DAY_SECONDS).unwrap_or(Timestamp::MAX);
    Offset::UTC.to_datetime(midnight).date()
}

fn day_number(date: Date) -> i64 {
    let midnight = Offset::UTC.to_timestamp(date.to_datetime(Time::midnight())).unwrap_or(Timestamp::MAX);
    midnight.as_second().div_euclid(DAY_SECONDS) + DAY_OF_1970
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calendar(unit: CalendarUnit, time_zone: &'static str, month_start_day: u8) -> Calendar {
        Calendar::new(CalendarWindow { unit, time_zone, month_start_day })
    }

    fn micros(text: &str) -> Micros {
        text.parse::<Timestamp>().unwrap().as_microsecond()
    }

    /// The bounds of the window at a time, as instants.
    fn bounds(calendar: &Calendar, at: &str) -> [String; 2] {
        let Period { start, end, .. } = calendar.at(micros(at));
        [start, end].map(|at| Timestamp::from_microsecond(at).unwrap().to_string())
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
