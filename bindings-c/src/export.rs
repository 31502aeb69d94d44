//! The door between C and Rust.

use std::any::Any;
use std::ffi::c_char;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, Failure};
use crate::status::Status;

/// Exports functions to C.
///
/// A function without a return type can fail. To C it has one more parameter, `error`, and returns a
/// status. Its body sees no raw argument: each arrives as [`Argument::Received`](crate::argument::Argument),
/// checked, or the function ends with `InvalidArgument` and the name of the argument. The body returns
/// `Result<(), Failure>`.
///
/// A function with a return type cannot fail, and takes its arguments as they are.
///
/// Neither lets a panic into C, and neither body may contain `unsafe` code.
macro_rules! export {
    ($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block) => {
        $(#[$doc])*
        #[allow(unsafe_code, clippy::missing_safety_doc)] // The header's first comment states it for all.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type,)* error: *mut $crate::error::Error) -> $crate::status::Status {
            let run = || -> Result<(), $crate::error::Failure> {
                // SAFETY: the header states what each pointer has to be.
                $(let $argument = unsafe { $crate::argument::Argument::receive($argument, stringify!($argument)) }?;)*
                #[deny(unsafe_code)]
                let outcome = $body;
                outcome
            };
            // SAFETY: the header states that `error` is NULL or can be written to.
            unsafe { $crate::export::report(run, error) }
        }
    };
    ($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> $result:ty $body:block) => {
        $(#[$doc])*
        #[allow(unsafe_code)]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($argument: $type),*) -> $result {
            #[deny(unsafe_code)]
            let run = || -> $result { $body };
            $crate::export::or_fallback(run)
        }
    };
}

/// Runs a function that can fail, and returns its status.
///
/// # Safety
/// `error` is NULL, or points to memory for an error.
pub(crate) unsafe fn report(run: impl FnOnce() -> Result<(), Failure>, error: *mut Error) -> Status {
    let outcome =
        catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(Failure::panic(message_of(&*panic))));
    let Err(failure) = outcome else { return Status::Ok };
    if !error.is_null() {
        // SAFETY: promised by the caller.
        unsafe { error.write(Error::from(&failure)) };
    }
    failure.status
}

/// Runs a function that cannot fail.
pub(crate) fn or_fallback<T: Fallback>(run: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or(T::FALLBACK)
}

/// What a function that cannot fail returns should it panic all the same.
pub(crate) trait Fallback {
    const FALLBACK: Self;
}

impl Fallback for () {
    const FALLBACK: Self = ();
}

impl Fallback for usize {
    const FALLBACK: Self = 0;
}

impl Fallback for *const c_char {
    const FALLBACK: Self = c"".as_ptr();
}

/// What a panic says.
fn message_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

#[cfg(test)]
#[allow(unreachable_pub)] // The macro makes what it exports public.
mod tests {
    use std::ffi::CStr;
    use std::ptr::null_mut;

    use super::*;

    export! {
        fn sluicegate_test_panic(number: usize) {
            assert_eq!(number, 0, "the number is not zero");
            Ok(())
        }
    }

    export! {
        fn sluicegate_test_quiet_panic(number: usize) -> *const c_char {
            assert_eq!(number, 0);
            c"fine".as_ptr()
        }
    }

    fn said(error: &Error) -> &str {
        unsafe { CStr::from_ptr(error.message.as_ptr()) }.to_str().unwrap()
    }

    #[test]
    fn a_panic_becomes_a_status() {
        let mut error = Error::from(&Failure::panic(""));
        assert_eq!(unsafe { sluicegate_test_panic(1, &raw mut error) }, Status::Internal);
        assert!(said(&error).contains("the number is not zero"), "{}", said(&error));
        assert_eq!(unsafe { sluicegate_test_panic(1, null_mut()) }, Status::Internal);
        assert_eq!(unsafe { sluicegate_test_panic(0, null_mut()) }, Status::Ok);
    }

    #[test]
    fn a_panic_without_a_status_ends_in_the_library() {
        let answer = |number| unsafe { CStr::from_ptr(sluicegate_test_quiet_panic(number)) };
        assert_eq!((answer(0), answer(1)), (c"fine", c""));
    }
}
