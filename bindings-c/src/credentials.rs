//! User and password of new connections, as a function of the caller gives them.

use std::ffi::{c_char, c_void};
use std::sync::Mutex;

use sluicegate::{Credentials, CredentialsProvider};

use crate::argument::Handle;
use crate::error::Failure;

/// Gives user and password for a new connection, by sluicegate_credentials_set; `context` is what came with it. Returns
/// whether it has. Threads of the library call it, and several at once. It has to return: neither by longjmp nor by an
/// exception; and it must not call functions of a limiter.
pub type CredentialsCallback =
    Option<unsafe extern "C" fn(context: *mut c_void, credentials: *const CredentialsRoom) -> bool>;

/// Where user and password of new connections come from.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CredentialsSource {
    /// The function. It may be called as long as the limiter, and calls of its own, last.
    pub callback: CredentialsCallback,
    /// What it is called with.
    pub context: *mut c_void,
}

/// What a new connection signs in with, to be filled in.
pub struct CredentialsRoom(Mutex<Option<Credentials>>);

impl Handle for CredentialsRoom {}

// SAFETY: the context is only handed back, to a function that any thread may call, as the header states.
unsafe impl Send for CredentialsSource {}
// SAFETY: as above.
unsafe impl Sync for CredentialsSource {}

impl CredentialsSource {
    pub(crate) fn provider(self, name: &'static str) -> Result<CredentialsProvider, Failure> {
        if self.callback.is_none() {
            return Err(Failure::argument(name, "has no callback"));
        }
        Ok((move || self.ask()).into())
    }

    fn ask(&self) -> Result<Credentials, &'static str> {
        let room = CredentialsRoom(Mutex::default());
        // SAFETY: the room lives until it returns; that any thread may call it is stated in the header.
        let is_given =
            self.callback.is_some_and(|callback| unsafe { callback(self.context, &raw const room) });
        let given = room.0.into_inner().ok().flatten().filter(|_| is_given);
        given.ok_or("the callback has set none")
    }
}

export! {
    /// Fills in what a new connection signs in with; an empty `user` is the default one. Both are copied.
    fn sluicegate_credentials_set(credentials: *const CredentialsRoom, user: *const c_char, password: *const c_char) {
        let given = match user {
            "" => Credentials::password(password),
            user => Credentials::new(user, password),
        };
        if let Ok(mut room) = credentials.0.lock() {
            *room = Some(given);
        }
        Ok(())
    }
}
