//! What the caller has set: servers, credentials, TLS, timeouts.

pub(super) mod login;
mod options;
#[cfg_attr(not(feature = "tls"), path = "without_tls.rs")]
pub(super) mod tls;
pub(super) mod url;
