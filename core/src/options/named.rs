//! Options by their names, for bindings to other languages.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::{CredentialsProvider, default_of, default_text, limiter_options};
use crate::error::{Error, ErrorKind, Result};
use crate::time::clock::ManualClock;

/// An option of a limiter, under its name in core.
#[derive(Debug, Clone, Copy)]
pub struct OptionSpec {
    /// Its name: that of the builder's method.
    pub name: &'static str,
    /// What its value is.
    pub kind: OptionKind,
    /// Its default in words.
    pub default: &'static str,
    /// What it does; names of options stand in backticks.
    pub about: &'static str,
}

/// What the value of an option is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OptionKind {
    /// Text with a default.
    Text,
    /// Text without a default, which may be a secret.
    OptionalText,
    /// The path of a file.
    Path,
    /// A function that gives user and password.
    Credentials,
    /// A clock that the caller moves.
    Clock,
    /// A time, with its default.
    Time(Duration),
    /// A whole number that this type of Rust holds, with its default.
    Count(&'static str, u64),
    /// One without a default of its own.
    OptionalCount(&'static str),
    /// A part of a whole, with its default.
    Part(f64),
    /// Whether something holds; false by default.
    Flag,
    /// Names, each with a text that may have secrets.
    Texts,
    /// Names, each with a number.
    Numbers,
}

/// A value as bindings have it. Numbers out of bounds are refused when the limiter is made.
#[derive(Debug)]
pub enum OptionValue {
    /// Of [`OptionKind::Text`] and [`OptionKind::OptionalText`].
    Text(String),
    /// Of [`OptionKind::Path`].
    Path(PathBuf),
    /// Of [`OptionKind::Credentials`].
    Credentials(CredentialsProvider),
    /// Of [`OptionKind::Clock`].
    Clock(ManualClock),
    /// Of [`OptionKind::Time`].
    Time(Duration),
    /// Of [`OptionKind::Count`] and [`OptionKind::OptionalCount`].
    Count(f64),
    /// Of [`OptionKind::Part`].
    Part(f64),
    /// Of [`OptionKind::Flag`].
    Flag(bool),
    /// Of [`OptionKind::Texts`] and [`OptionKind::Numbers`]: an object as JSON text.
    Object(String),
}

macro_rules! kind_of {
    (text() = $default:literal) => {
        OptionKind::Text
    };
    (secret() = $default:literal) => {
        OptionKind::OptionalText
    };
    (name() = $default:literal) => {
        OptionKind::OptionalText
    };
    (urls() = $default:literal) => {
        OptionKind::Texts
    };
    (numbers() = $default:literal) => {
        OptionKind::Numbers
    };
    (path() = $default:literal) => {
        OptionKind::Path
    };
    (part() = $default:literal) => {
        OptionKind::Part(default_of!(part() = $default))
    };
    (flag() = $default:literal) => {
        OptionKind::Flag
    };
    (provider() = $default:literal) => {
        OptionKind::Credentials
    };
    (clock() = $default:literal) => {
        OptionKind::Clock
    };
    (time($unit:ident) = $default:literal) => {
        OptionKind::Time(default_of!(time($unit) = $default))
    };
    (age($unit:ident) = $default:literal) => {
        OptionKind::Time(default_of!(age($unit) = $default))
    };
    (count($type:ty, $($rest:tt)*) = $default:literal) => {
        OptionKind::Count(stringify!($type), $default)
    };
    (optional_count($type:ty, $($rest:tt)*) = $default:literal) => {
        OptionKind::OptionalCount(stringify!($type))
    };
}

macro_rules! specs {
    ($($(#[$about:meta])* $Group:ident, $other:ident {
        $($(#[doc = $doc:literal])+ $name:ident: $kind:ident($($of:tt)*) = $default:tt;)*
    })*) => {
        /// Every option, in the order in which C has them.
        pub const OPTIONS: &[OptionSpec] = &[$($(
            OptionSpec {
                name: stringify!($name),
                kind: kind_of!($kind($($of)*) = $default),
                default: default_text!($kind($($of)*) = $default),
                about: concat!($($doc),+),
            },
        )*)*];
    };
}
limiter_options!(specs);

impl OptionSpec {
    /// The option of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        OPTIONS.iter().find(|option| option.name == name)
    }
}

/// Takes a value of the right kind out of what a binding hands over.
pub(crate) trait FromValue: Sized {
    /// `None`: it is of another kind.
    fn from_value(name: &str, value: OptionValue) -> Result<Option<Self>>;
}

macro_rules! from_value {
    ($($variant:ident($type:ty),)*) => {
        $(
            impl FromValue for $type {
                fn from_value(_: &str, value: OptionValue) -> Result<Option<Self>> {
                    Ok(if let OptionValue::$variant(value) = value { Some(value) } else { None })
                }
            }
        )*
    };
}
from_value!(Text(String), Path(PathBuf), Clock(ManualClock), Time(Duration), Part(f64), Flag(bool),);
from_value!(Credentials(CredentialsProvider),);

macro_rules! object_from_value {
    ($($type:ty, $right:literal;)*) => {
        $(
            impl FromValue for BTreeMap<String, $type> {
                fn from_value(name: &str, value: OptionValue) -> Result<Option<Self>> {
                    let OptionValue::Object(text) = value else { return Ok(None) };
                    // What the reader says of it could show a secret.
                    let read = serde_json::from_str(&text);
                    read.map(Some).map_err(|_| refused(name, concat!("must be an object of names and ", $right)))
                }
            }
        )*
    };
}
object_from_value!(String, "URLs"; f64, "numbers";);

macro_rules! count_from_value {
    ($($type:ty)*) => {
        $(
            impl FromValue for $type {
                /// What is beyond the type becomes the largest or the least that it has; bounds are checked later.
                fn from_value(name: &str, value: OptionValue) -> Result<Option<Self>> {
                    let OptionValue::Count(number) = value else { return Ok(None) };
                    if number < 0.0 || number.trunc() != number {
                        return Err(refused(name, &format!("{number}: must be a whole number, 0 or more")));
                    }
                    Ok(Some(number as Self))
                }
            }
        )*
    };
}
count_from_value!(u32 u64 usize);

/// The value that a builder takes, or the error that names the option.
pub(crate) fn taken<T: FromValue>(name: &str, value: OptionValue) -> Result<T> {
    T::from_value(name, value)?.ok_or_else(|| refused(name, "is of another kind"))
}

/// The error of a name that no option has.
pub(crate) fn unknown(name: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("{name}: no option of a limiter has this name"))
}

fn refused(name: &str, reason: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("{name} {reason}"))
}
