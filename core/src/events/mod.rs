//! Events: what happens to a limiter while it runs, written to the crate `log`. Programs recognise an event by its name, the last
//! part of the record's target.

mod seldom;

pub(crate) use seldom::Seldom;

/// What the targets of events begin with.
#[cfg(feature = "bridge")]
pub(crate) const TARGET: &str = "sluicegate::events::";

/// Logs an event: `event!(Warn, breaker_open, "...")`. It is one line, whatever names it has.
macro_rules! event {
    ($level:ident, $name:ident, $($message:tt)+) => {
        log::log!(
            target: concat!("sluicegate::events::", stringify!($name)),
            log::Level::$level,
            "{}",
            $crate::text::printable::printable(&format!($($message)+))
        )
    };
}
pub(crate) use event;
