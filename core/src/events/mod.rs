//! What a limiter tells of itself while it runs, by the crate `log`. An event has a name, by which programs tell it from others:
//! it is the last part of the record's target.

mod seldom;

pub(crate) use seldom::Seldom;

/// What the targets of events begin with.
#[cfg(feature = "bridge")]
pub(crate) const TARGET: &str = "sluicegate::events::";

/// Logs an event: `event!(Warn, breaker_open, "...")`.
macro_rules! event {
    ($level:ident, $name:ident, $($message:tt)+) => {
        log::log!(target: concat!("sluicegate::events::", stringify!($name)), log::Level::$level, $($message)+)
    };
}
pub(crate) use event;
