//! What stands in for TLS where the feature `tls` is off: a URL that asks for it is refused, so that there is
//! never a connection with it.

use std::convert::Infallible;
use std::io::{self, Read, Write};

use super::options::ConnectOptions;
use crate::error::{Error, ErrorKind, Result};

#[derive(Clone)]
pub(super) struct Tls(Infallible);

impl Tls {
    pub(super) fn new(_: &ConnectOptions) -> Result<Self> {
        let reason = "cannot connect with TLS: this program was built without the feature `tls` of the crate \
                      sluicegate (enable it, or use a URL without TLS)";
        Err(Error::new(ErrorKind::InvalidArgument, reason))
    }

    pub(super) fn connect(&self, _: &str) -> io::Result<Layer> {
        match self.0 {}
    }
}

pub(super) struct Layer(Infallible);

impl Layer {
    pub(super) fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        match self.0 {}
    }

    pub(super) fn wants_write(&self) -> bool {
        match self.0 {}
    }

    pub(super) fn send(&mut self, _: &mut impl Write) -> io::Result<()> {
        match self.0 {}
    }

    pub(super) fn receive(&mut self, _: &mut impl Read, _: &mut [u8]) -> io::Result<usize> {
        match self.0 {}
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
