//! Addresses of servers and of clients, networks, and certificates.

pub(crate) mod address;
#[cfg(feature = "tls")]
pub(crate) mod certificates;
pub(crate) mod subnet;
