//! User and password of new connections, as a function of the caller gives them.

use std::error::Error as StdError;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::{fmt, io, thread};

use crate::sync::permits::{Permit, Permits};

/// The most calls of one function that are under way: one that hangs keeps its thread.
const MOST: usize = 8;

/// What a new connection signs in with.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    pub(crate) user: Option<String>,
    pub(crate) password: String,
}

impl Credentials {
    /// Those of a user.
    pub fn new(user: impl Into<String>, password: impl Into<String>) -> Self {
        Self { user: Some(user.into()), password: password.into() }
    }

    /// Those of the default user.
    pub fn password(password: impl Into<String>) -> Self {
        Self { user: None, password: password.into() }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(hidden)")
    }
}

/// Why there are none.
type Failure = Box<dyn StdError + Send + Sync>;

/// A function that gives [`Credentials`] for each new connection: made of a closure that returns them, or an error.
#[derive(Clone)]
pub struct CredentialsProvider(Arc<Provider>);

/// Tells providers apart, also from those that are gone.
static MADE: AtomicU64 = AtomicU64::new(0);

struct Provider {
    number: u64,
    ask: Box<dyn Fn(CredentialsReply) + Send + Sync>,
    permits: Permits,
}

impl CredentialsProvider {
    /// One that is asked, and replies when it can, from any thread. What does not reply any more is to be dropped.
    pub(crate) fn asked(ask: impl Fn(CredentialsReply) + Send + Sync + 'static) -> Self {
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        Self(Arc::new(Provider { number, ask: Box::new(ask), permits: Permits::new(MOST) }))
    }

    /// One that is asked, for bindings.
    #[cfg(feature = "bridge")]
    pub fn of(ask: impl Fn(CredentialsReply) + Send + Sync + 'static) -> Self {
        Self::asked(ask)
    }

    /// Asks for credentials, which come later.
    pub(crate) fn ask(&self) -> io::Result<Receiver<io::Result<Credentials>>> {
        let permit = self.0.permits.take();
        let permit =
            permit.ok_or_else(|| io::Error::other("too many calls of `credentials` are under way"))?;
        let (sender, reply) = channel();
        (self.0.ask)(CredentialsReply { sender, _permit: permit });
        Ok(reply)
    }
}

/// The function may take its time: it runs on a thread of its own, which outlives a caller that gives up.
impl<F, E> From<F> for CredentialsProvider
where
    F: Fn() -> Result<Credentials, E> + Send + Sync + 'static,
    E: Into<Failure>,
{
    fn from(function: F) -> Self {
        let function = Arc::new(function);
        Self::asked(move |reply| {
            let function = Arc::clone(&function);
            let thread = thread::Builder::new().name("sluicegate-credentials".to_owned());
            // Without a thread the reply is dropped.
            let _ = thread.spawn(move || reply.give(function()));
        })
    }
}

impl fmt::Debug for CredentialsProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CredentialsProvider")
    }
}

/// Each is another one.
impl Hash for CredentialsProvider {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.number.hash(state);
    }
}

/// Where credentials go that were asked for.
#[cfg_attr(not(feature = "bridge"), allow(unreachable_pub, reason = "for bindings"))]
pub struct CredentialsReply {
    sender: Sender<io::Result<Credentials>>,
    _permit: Permit,
}

#[cfg_attr(not(feature = "bridge"), allow(unreachable_pub, reason = "for bindings"))]
impl CredentialsReply {
    /// Hands them over, or why there are none. The texts of errors, which may have secrets, are only causes of the error that
    /// callers get.
    pub fn give(self, credentials: Result<Credentials, impl Into<Failure>>) {
        let credentials = credentials.map_err(|cause| io::Error::other(CredentialsError(cause.into())));
        // Whoever asked may have given up.
        let _ = self.sender.send(credentials);
    }

    /// There are none, for this reason, which has no secrets.
    #[cfg(feature = "bridge")]
    pub fn refuse(self, reason: String) {
        let _ = self.sender.send(Err(io::Error::other(reason)));
    }
}

#[derive(Debug)]
struct CredentialsError(Failure);

impl fmt::Display for CredentialsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`credentials` returned an error")
    }
}

impl StdError for CredentialsError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(self.0.as_ref())
    }
}
