//! What stands in for TLS where the feature `tls` is off: a URL that asks for it is refused, so that there is
//! never a connection with it.

use std::io::{self, Read, Write};

use crate::error::{Error, ErrorKind, Result};
use crate::options::ConnectOptions;

pub(in crate::redis) type Config = std::convert::Infallible;

pub(in crate::redis) fn config(_: &ConnectOptions) -> Result<Config> {
    let reason = "cannot connect with TLS: this program was built without the feature `tls` of the crate \
                  sluicegate (enable it, or use a URL without TLS)";
    Err(Error::new(ErrorKind::InvalidArgument, reason))
}

pub(in crate::redis) enum Layer {}

impl Layer {
    pub(in crate::redis) fn connect(config: &Config, _: &str) -> io::Result<Self> {
        match *config {}
    }

    pub(in crate::redis) fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        match *self {}
    }

    pub(in crate::redis) fn wants_write(&self) -> bool {
        match *self {}
    }

    pub(in crate::redis) fn send(&mut self, _: &mut impl Write) -> io::Result<()> {
        match *self {}
    }

    pub(in crate::redis) fn receive(&mut self, _: &mut impl Read, _: &mut [u8]) -> io::Result<usize> {
        match *self {}
    }
}

#[cfg(test)]
mod tests {
    use crate::RateLimiter;
    use crate::error::ErrorKind;

    #[test]
    fn a_url_with_tls_is_refused() {
        let error = RateLimiter::builder("rediss://localhost").build().map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains("feature `tls`"), "{error}");
    }
}
