//! The native module of the Python package: converts arguments, calls the limiter, converts back.

mod arguments;
mod asynchronous;
mod blocking;
mod calls;
mod check;
mod clock;
mod decision;
mod doorbell;
mod errors;
mod options;
mod rules;

use pyo3::prelude::*;

#[pymodule(name = "_native")]
mod native {
    #[pymodule_export]
    use crate::asynchronous::Bridge;
    #[pymodule_export]
    use crate::blocking::RateLimiter;
    #[pymodule_export]
    use crate::check::Check;
    #[pymodule_export]
    use crate::clock::ManualClock;
    #[pymodule_export]
    use crate::decision::Decision;
    #[pymodule_export]
    use crate::options::Options;
}
