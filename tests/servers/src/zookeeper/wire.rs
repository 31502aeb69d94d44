//! The encoding of ZooKeeper's protocol: big-endian integers, and a length before everything else.

use crate::{Error, Result};

/// A message under construction.
#[derive(Debug, Default)]
pub(super) struct Writer(Vec<u8>);

impl Writer {
    pub(super) fn int(mut self, value: i32) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub(super) fn long(mut self, value: i64) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub(super) fn bool(mut self, value: bool) -> Self {
        self.0.push(value.into());
        self
    }

    pub(super) fn bytes(self, value: &[u8]) -> Self {
        let mut longer = self.int(value.len() as i32);
        longer.0.extend(value);
        longer
    }

    pub(super) fn text(self, value: &str) -> Self {
        self.bytes(value.as_bytes())
    }

    /// The message with its own length before it.
    pub(super) fn frame(self) -> Vec<u8> {
        Self::default().bytes(&self.0).0
    }
}

/// A message on its way out of bytes.
#[derive(Debug)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn int(&mut self) -> Result<i32> {
        self.array().map(i32::from_be_bytes)
    }

    pub(super) fn long(&mut self) -> Result<i64> {
        self.array().map(i64::from_be_bytes)
    }

    /// Bytes with their length before them; a negative one stands for none.
    pub(super) fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.int()?.max(0) as usize;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or_else(too_short)?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(super) fn text(&mut self) -> Result<String> {
        Ok(String::from_utf8_lossy(self.bytes()?).into_owned())
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk().ok_or_else(too_short)?;
        self.0 = rest;
        Ok(*array)
    }
}

fn too_short() -> Error {
    Error::new("zookeeper: an answer is too short")
}
