//! The signatures of RocksDB that limitador's storage on disk refers to. Nothing can be opened.

use std::fmt;
use std::marker::PhantomData;
use std::path::Path;

#[derive(Debug, PartialEq, Eq)]
pub enum ErrorKind {
    TimedOut,
    TryAgain,
    NotSupported,
}

#[derive(Debug)]
pub struct Error;

impl Error {
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::NotSupported
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this build has no storage on disk")
    }
}

impl std::error::Error for Error {}

pub enum CompactionDecision {
    Keep,
    Remove,
}

pub enum DBCompressionType {
    None,
    Bz2,
}

pub enum IteratorMode {
    Start,
}

#[derive(Debug)]
pub struct MultiThreaded;

/// What is merged into a value.
pub struct MergeOperands;

impl<'a> IntoIterator for &'a MergeOperands {
    type Item = &'a [u8];
    type IntoIter = std::iter::Empty<&'a [u8]>;

    fn into_iter(self) -> Self::IntoIter {
        std::iter::empty()
    }
}

#[derive(Default)]
pub struct Options;

impl Options {
    pub fn set_compression_type(&mut self, _: DBCompressionType) {}

    pub fn set_compaction_filter<F>(&mut self, _: &str, _: F)
    where
        F: FnMut(u32, &[u8], &[u8]) -> CompactionDecision + Send + 'static,
    {
    }

    pub fn set_merge_operator_associative<F>(&mut self, _: &str, _: F)
    where
        F: Fn(&[u8], Option<&[u8]>, &MergeOperands) -> Option<Vec<u8>> + Clone + Send + Sync + 'static,
    {
    }

    pub fn create_if_missing(&mut self, _: bool) {}
}

pub type DB = DBWithThreadMode<MultiThreaded>;
type Entries = std::iter::Empty<Result<(Box<[u8]>, Box<[u8]>), Error>>;

#[derive(Debug)]
pub struct DBWithThreadMode<T>(PhantomData<T>);

impl<T> DBWithThreadMode<T> {
    pub fn open(_: &Options, _: impl AsRef<Path>) -> Result<Self, Error> {
        Err(Error)
    }

    pub fn get(&self, _: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>, Error> {
        Err(Error)
    }

    pub fn delete(&self, _: impl AsRef<[u8]>) -> Result<(), Error> {
        Err(Error)
    }

    pub fn merge(&self, _: impl AsRef<[u8]>, _: impl AsRef<[u8]>) -> Result<(), Error> {
        Err(Error)
    }

    pub fn prefix_iterator(&self, _: impl AsRef<[u8]>) -> Entries {
        std::iter::empty()
    }

    pub fn iterator(&self, _: IteratorMode) -> Entries {
        std::iter::empty()
    }
}
