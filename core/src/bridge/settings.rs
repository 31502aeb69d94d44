//! The options of a limiter, as bindings have them.

use std::path::PathBuf;
use std::time::Duration;

use crate::limiter::Builder;
use crate::time::clock::ManualClock;

macro_rules! settings {
    ($($option:ident: $kind:ty,)*) => {
        /// Options for a [`Builder`], each under the name of its method; those that are `None` keep their defaults.
        #[derive(Default)]
        pub struct Settings {
            $(
                #[doc = concat!("For [`Builder::", stringify!($option), "`].")]
                pub $option: Option<$kind>,
            )*
        }

        impl Settings {
            /// The builder with these options.
            pub fn apply(self, mut builder: Builder) -> Builder {
                $(
                    if let Some(value) = self.$option {
                        builder = builder.$option(value);
                    }
                )*
                builder
            }
        }
    };
}

settings! {
    prefix: String,
    clock: ManualClock,
    connect_timeout: Duration,
    response_timeout: Duration,
    pool_size: usize,
    tls_ca: PathBuf,
    tls_cert: PathBuf,
    tls_key: PathBuf,
    rules_cache: PathBuf,
    identifier_secret: String,
    max_keys: usize,
    breaker_failures: u32,
    breaker_probe: Duration,
    request_id_seconds: u64,
}
