//! What middleware does about HTTP, in every language and framework: headers of decisions, answers to requests that go
//! no further, and the addresses of clients behind proxies.

#[cfg(any(feature = "tower", feature = "bridge"))]
mod client;
#[cfg(any(feature = "tower", feature = "bridge"))]
mod grpc;
mod headers;
#[cfg(any(feature = "tower", feature = "bridge"))]
mod problem;
#[cfg(any(feature = "tower", feature = "bridge"))]
mod proxies;

#[cfg(feature = "tower")]
pub(crate) use client::client;
#[cfg(feature = "bridge")]
pub use client::client_address;
pub use headers::HeaderStyle;
#[cfg(feature = "bridge")]
pub use headers::is_header_name;
#[cfg(any(feature = "tower", feature = "bridge"))]
#[cfg_attr(not(feature = "bridge"), allow(unreachable_pub, reason = "for bindings"))]
pub use problem::Problem;
#[cfg(any(feature = "tower", feature = "bridge"))]
pub use proxies::{ForwardedHeader, TrustedProxies};
