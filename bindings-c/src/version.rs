//! Which release this is.

use std::ffi::{CStr, c_char};

/// The major version of the header.
pub const SLUICEGATE_VERSION_MAJOR: u32 = 0;

/// The minor version of the header.
pub const SLUICEGATE_VERSION_MINOR: u32 = 1;

/// The patch version of the header.
pub const SLUICEGATE_VERSION_PATCH: u32 = 0;

/// The version of the library.
const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => c"",
};

export! {
    /// The version of the library that is loaded, such as "0.1.0". Lives for ever.
    fn sluicegate_version() -> *const c_char {
        VERSION.as_ptr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_of_the_manifest_s_version() {
        let header = [SLUICEGATE_VERSION_MAJOR, SLUICEGATE_VERSION_MINOR, SLUICEGATE_VERSION_PATCH];
        assert_eq!(header.map(|number| number.to_string()).join("."), env!("CARGO_PKG_VERSION"));
        assert_eq!(VERSION.to_str(), Ok(env!("CARGO_PKG_VERSION")));
    }
}
