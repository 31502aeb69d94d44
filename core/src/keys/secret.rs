//! Identifiers that are secrets of a client: API keys and values of headers.
//!
//! Names of keys are visible to everybody with access to the server, its traffic, its snapshots or its slow log. So a
//! secret is hashed before it becomes a name, by every language and every call alike. Without an
//! `identifier_secret` the hash is plain SHA-256, which hides keys that cannot be guessed; with one it is
//! HMAC-SHA-256, which hides the others too from who has not got that secret.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};

use super::key::hexadecimal;
use crate::error::{Error, ErrorKind, Result};

/// Bytes of an `identifier_secret`.
const LENGTHS: RangeInclusive<usize> = 16..=1024;
/// What the name of a secret begins with. No escaping produces it.
const MARK: &str = "%s";

/// How secrets are named.
#[derive(Clone, Default)]
pub(crate) struct SecretNames {
    /// HMAC whose key was absorbed already.
    keyed: Option<Arc<Hmac<Sha256>>>,
}

impl fmt::Debug for SecretNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.keyed.is_some() { "keyed" } else { "unkeyed" })
    }
}

impl SecretNames {
    /// Names by the option `identifier_secret`.
    pub(crate) fn new(identifier_secret: Option<&str>) -> Result<Self> {
        let Some(secret) = identifier_secret else { return Ok(Self::default()) };
        if !LENGTHS.contains(&secret.len()) {
            let (least, most) = (LENGTHS.start(), LENGTHS.end());
            let what = format!("identifier_secret must be from {least} to {most} bytes long");
            return Err(Error::new(ErrorKind::InvalidArgument, what));
        }
        let keyed = Hmac::new_from_slice(secret.as_bytes());
        // HMAC takes keys of any length.
        let keyed = keyed.map_err(|error| Error::new(ErrorKind::InvalidArgument, error.to_string()))?;
        Ok(Self { keyed: Some(Arc::new(keyed)) })
    }

    /// The name of a secret: 128 bits of its hash.
    pub(crate) fn name(&self, secret: &str) -> String {
        match &self.keyed {
            Some(keyed) => {
                let digest = Hmac::clone(keyed).chain_update(secret).finalize().into_bytes();
                hexadecimal(MARK, &digest)
            }
            None => hexadecimal(MARK, &Sha256::digest(secret)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed by other programs.
    #[test]
    fn names_are_those_of_the_standards() {
        // `printf %s abc | sha256sum`
        assert_eq!(SecretNames::default().name("abc"), "%sba7816bf8f01cfea414140de5dae2223");
        // `printf %s abc | openssl dgst -sha256 -hmac 0123456789abcdef`
        let keyed = SecretNames::new(Some("0123456789abcdef")).unwrap();
        assert_eq!(keyed.name("abc"), "%sbcaa92843247bc258080d2824bddeba4");
        assert_eq!(keyed.name("abc"), keyed.clone().name("abc"));
    }

    #[test]
    fn a_secret_that_is_too_short_or_too_long_is_refused_without_it() {
        for secret in ["", "fifteen bytes !", &"x".repeat(1025)] {
            let error = SecretNames::new(Some(secret)).unwrap_err();
            assert_eq!(error.message(), "identifier_secret must be from 16 to 1024 bytes long");
        }
        assert_eq!(format!("{:?}", SecretNames::new(Some("0123456789abcdef")).unwrap()), "keyed");
    }
}
