//! The native module of the Python package: converts arguments, calls the limiter, converts back.

mod arguments;
mod asynchronous;
mod blocking;
mod calls;
mod check;
mod cli;
mod clock;
mod credentials;
mod decision;
mod doorbell;
mod errors;
mod home_loop;
mod http;
mod keys;
mod lab;
mod logging;
mod matching;
mod metrics;
mod options;
mod representation;
mod request;
mod reservation;
mod reserved;
mod rules;
mod shared;
mod status;

use pyo3::prelude::*;

#[pymodule(name = "_native")]
mod native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::asynchronous::Bridge;
    #[pymodule_export]
    use crate::blocking::RateLimiter;
    #[pymodule_export]
    use crate::check::Check;
    #[pymodule_export]
    use crate::cli::cli;
    #[pymodule_export]
    use crate::clock::ManualClock;
    #[pymodule_export]
    use crate::decision::Decision;
    #[pymodule_export]
    use crate::http::{Problem, TrustedProxies, address_key, is_header_name};
    #[pymodule_export]
    use crate::lab::{LabReport, lab_compare, lab_run};
    #[pymodule_export]
    use crate::matching::RequestMatch;
    #[pymodule_export]
    use crate::reservation::Reservation;
    #[pymodule_export]
    use crate::reserved::Reserved;
    #[pymodule_export]
    use crate::status::{Refusal, RulesStatus};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::logging::begin(module.py())?;
        module.add("Options", module.py().get_type::<crate::options::Options>())
    }
}
