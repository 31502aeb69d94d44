//! Signals must not cut an answer short where the `redis` crate reads it.

/// While it lives, this thread handles no signals: they wait, or another thread takes them.
///
/// A read that has a timeout is not restarted after a signal, whatever the handler asks for: the connection
/// would be lost, and with it the answer that is on its way.
pub(super) struct Undisturbed {
    #[cfg(unix)]
    before: libc::sigset_t,
}

#[cfg(unix)]
#[allow(unsafe_code, reason = "nothing safe blocks signals")]
impl Undisturbed {
    pub(super) fn begin() -> Self {
        /// Those that a thread causes itself.
        const FAULTS: [i32; 6] =
            [libc::SIGABRT, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGSEGV, libc::SIGTRAP];
        // SAFETY: a set of signals is plain data, and both sets live as long as the calls.
        unsafe {
            let mut blocked = std::mem::zeroed();
            let mut before = std::mem::zeroed();
            libc::sigfillset(&raw mut blocked);
            for fault in FAULTS {
                libc::sigdelset(&raw mut blocked, fault);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const blocked, &raw mut before);
            Self { before }
        }
    }
}

#[cfg(unix)]
#[allow(unsafe_code, reason = "as above")]
impl Drop for Undisturbed {
    fn drop(&mut self) {
        // SAFETY: the set was filled in by the call above, on this thread: the guard never leaves a function.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut()) };
    }
}

#[cfg(not(unix))]
impl Undisturbed {
    pub(super) fn begin() -> Self {
        Self {}
    }
}
