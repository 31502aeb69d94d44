//! The C binding. Every function converts its arguments, calls the crate `sluicegate`, and converts
//! the answer; nothing is decided here.
//!
//! [`export!`](export) is the only way by which a function gets out: it converts and checks the
//! arguments, catches panics and reports errors. `unsafe` code is denied but in the modules that read
//! and write what C points to; the functions themselves have none.
//!
//! `include/sluicegate.h` is generated from these files; see `tests/header.rs`.

#[macro_use]
#[allow(unsafe_code)]
mod export;
#[allow(unsafe_code)]
mod argument;

pub mod version;

pub mod status;

pub mod error;

pub mod clock;

#[allow(unsafe_code)]
pub mod credentials;

#[allow(unsafe_code)]
pub mod options;

pub mod decision;

#[allow(unsafe_code)]
pub mod check;

#[allow(unsafe_code)]
pub mod request;

#[allow(unsafe_code)]
pub mod callback;

pub mod limiter;

#[allow(unsafe_code)]
pub mod log;

pub mod rules;

pub mod calls;
#[allow(unsafe_code)]
pub mod key;
pub mod key_record;
#[allow(unsafe_code)]
pub mod reservation;

pub mod matching;

#[allow(unsafe_code)]
pub mod headers;

#[cfg(test)]
mod fuzz;
mod text;
