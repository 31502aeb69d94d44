//! The kinds of options: the type of each, its default, its bounds, and how a binding hands it over.

use std::fmt;

/// What is, or may carry, a secret, and so is never printed.
#[derive(Clone, PartialEq)]
pub(crate) struct Hidden(pub(crate) String);

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

/// The type of an option's value.
macro_rules! type_of {
    (time) => { std::time::Duration };
    (text) => { String };
    (path) => { Option<std::path::PathBuf> };
    (secret) => { Option<$crate::options::Hidden> };
    (name) => { Option<String> };
    (urls) => { Option<std::collections::BTreeMap<String, $crate::options::Hidden>> };
    (numbers) => { Option<std::collections::BTreeMap<String, f64>> };
    (part) => { f64 };
    (flag) => { bool };
    (provider) => { Option<$crate::options::CredentialsProvider> };
    (clock) => { Option<$crate::time::clock::ManualClock> };
    (count($type:ty, $($rest:tt)*)) => { $type };
    (optional_count($type:ty, $($rest:tt)*)) => { Option<$type> };
    ($kind:ident()) => { $crate::options::type_of!($kind) };
    (time($other:ident)) => { std::time::Duration };
    (age($other:ident)) => { std::time::Duration };
}

/// An option's default.
macro_rules! default_of {
    (time(s) = $default:literal) => {
        std::time::Duration::from_secs($default)
    };
    (time(ms) = $default:literal) => {
        std::time::Duration::from_millis($default)
    };
    (age(s) = $default:literal) => {
        std::time::Duration::from_secs($default)
    };
    (text() = $default:literal) => {
        $default.to_owned()
    };
    (part() = $default:literal) => {
        $default as f64
    };
    (flag() = $default:literal) => {
        $default
    };
    (count($($rest:tt)*) = $default:literal) => {
        $default
    };
    ($($rest:tt)*) => {
        None
    };
}

/// An option's default in words.
macro_rules! default_text {
    (age($unit:ident) = $default:literal) => {
        concat!($default, " ", stringify!($unit))
    };
    (time($unit:ident) = $default:literal) => {
        concat!($default, " ", stringify!($unit))
    };
    (text() = $default:literal) => {
        concat!("`", $default, "`")
    };
    ($kind:ident($($rest:tt)*) = $default:literal) => {
        concat!($default)
    };
}

/// Checks a value by its bounds.
macro_rules! validated {
    ($name:ident, $value:expr, time($other:ident)) => {
        $crate::time::timeout::validate_time(stringify!($name), $value)
    };
    ($name:ident, $value:expr, age($other:ident)) => {
        $crate::options::validate_age(stringify!($name), $value)
    };
    ($name:ident, $value:expr, count($type:ty, $bounds:expr)) => {
        $crate::options::within(stringify!($name), $value, $bounds)
    };
    ($name:ident, $value:expr, part()) => {
        $crate::options::is_part(stringify!($name), $value)
    };
    ($name:ident, $value:expr, optional_count($type:ty, $bounds:expr)) => {
        $value.map_or(Ok(()), |value| $crate::options::within(stringify!($name), value, $bounds))
    };
    ($($rest:tt)*) => {
        Ok(())
    };
}

/// What a method of the builder takes for an option, and what it makes of that.
macro_rules! setter_type {
    (path()) => { impl Into<std::path::PathBuf> };
    (text()) => { impl Into<String> };
    (secret()) => { impl Into<String> };
    (name()) => { impl Into<String> };
    (urls()) => { impl IntoIterator<Item = (impl Into<String>, impl Into<String>)> };
    (numbers()) => { impl IntoIterator<Item = (impl Into<String>, f64)> };
    (provider()) => { impl Into<$crate::options::CredentialsProvider> };
    (clock()) => { $crate::time::clock::ManualClock };
    (optional_count($type:ty, $($rest:tt)*)) => { $type };
    ($($kind:tt)*) => { $crate::options::type_of!($($kind)*) };
}
macro_rules! set_to {
    (path(), $value:expr) => {
        Some($value.into())
    };
    (text(), $value:expr) => {
        $value.into()
    };
    (secret(), $value:expr) => {
        Some($crate::options::Hidden($value.into()))
    };
    (name(), $value:expr) => {
        Some($value.into())
    };
    (urls(), $value:expr) => {
        Some(
            $value
                .into_iter()
                .map(|(name, url)| (name.into(), $crate::options::Hidden(url.into())))
                .collect(),
        )
    };
    (numbers(), $value:expr) => {
        Some($value.into_iter().map(|(name, number)| (name.into(), number)).collect())
    };
    (provider(), $value:expr) => {
        Some($value.into())
    };
    (clock(), $value:expr) => {
        Some($value)
    };
    (optional_count($($rest:tt)*), $value:expr) => {
        Some($value)
    };
    ($kind:ident($($rest:tt)*), $value:expr) => {
        $value
    };
}

/// What a binding hands over for an option.
#[cfg(feature = "bridge")]
macro_rules! value_type {
    (path()) => { std::path::PathBuf };
    (text()) => { String };
    (secret()) => { String };
    (name()) => { String };
    (urls()) => { std::collections::BTreeMap<String, String> };
    (numbers()) => { std::collections::BTreeMap<String, f64> };
    (provider()) => { $crate::options::CredentialsProvider };
    ($($kind:tt)*) => { $crate::options::setter_type!($($kind)*) };
}

#[cfg(feature = "bridge")]
pub(crate) use value_type;
pub(crate) use {default_of, default_text, set_to, setter_type, type_of, validated};
