//! What a caller may set of a limiter. Each option stands in [`table`] alone; its type, default, bounds, the method of the
//! builder and what the bindings know of it are made from there.

mod credentials;
mod kinds;
#[cfg(feature = "bridge")]
mod named;
mod table;

use std::fmt::Display;
use std::ops::{Bound, RangeBounds};
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
#[cfg(feature = "bridge")]
pub use credentials::CredentialsReply;
pub use credentials::{Credentials, CredentialsProvider};
#[cfg(feature = "bridge")]
pub(crate) use kinds::value_type;
pub(crate) use kinds::{Hidden, default_of, default_text, set_to, setter_type, type_of, validated};
#[cfg(feature = "bridge")]
pub use named::{OPTIONS, OptionKind, OptionSpec, OptionValue};
#[cfg(feature = "bridge")]
pub(crate) use named::{taken, unknown};
pub(crate) use table::limiter_options;

macro_rules! groups {
    ($($(#[$about:meta])* $Group:ident, $other:ident {
        $($(#[doc = $doc:literal])+ $name:ident: $kind:ident($($of:tt)*) = $default:tt;)*
    })*) => {
        $(
            $(#[$about])*
            #[derive(Debug, Clone)]
            pub(crate) struct $Group {
                $($(#[doc = $doc])+ pub(crate) $name: type_of!($kind($($of)*)),)*
            }

            impl Default for $Group {
                fn default() -> Self {
                    Self { $($name: default_of!($kind($($of)*) = $default),)* }
                }
            }

            impl $Group {
                /// Checks each value by its bounds.
                pub(crate) fn validate_bounds(&self) -> Result<()> {
                    $(validated!($name, self.$name, $kind($($of)*))?;)*
                    Ok(())
                }
            }
        )*
    };
}
limiter_options!(groups);

/// The longest age.
const DAY: Duration = Duration::from_secs(86_400);

/// Refuses an age that is too long; the error names the option.
fn validate_age(name: &str, value: Duration) -> Result<()> {
    if value <= DAY {
        return Ok(());
    }
    Err(Error::new(ErrorKind::InvalidArgument, format!("{name} must be from 0 to {} seconds", DAY.as_secs())))
}

/// Refuses what is no part of a whole; the error names the option.
fn is_part(name: &str, value: f64) -> Result<()> {
    if value > 0.0 && value <= 1.0 {
        return Ok(());
    }
    Err(Error::new(ErrorKind::InvalidArgument, format!("{name} must be above 0 and 1 at most")))
}

/// Refuses a number out of bounds; the error names the option.
fn within<N: PartialOrd + Display>(name: &str, value: N, bounds: impl RangeBounds<N>) -> Result<()> {
    if bounds.contains(&value) {
        return Ok(());
    }
    let right = match (bounds.start_bound(), bounds.end_bound()) {
        (Bound::Included(least), Bound::Included(most)) => format!("from {least} to {most}"),
        (Bound::Included(least), _) => format!("at least {least}"),
        _ => "in its bounds".to_owned(),
    };
    Err(Error::new(ErrorKind::InvalidArgument, format!("{name} must be {right}")))
}
