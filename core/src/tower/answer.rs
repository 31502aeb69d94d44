//! What functions of the application answer, at once or later.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use http::request::Parts;

/// What a function of a layer answers: at once, which is made of the value itself, or [later].
pub struct Answer<T>(State<T>);

enum State<T> {
    Now(T),
    Later(Pin<Box<dyn Future<Output = T> + Send>>),
}

/// Lets a function of a layer wait, such as for a database. The future owns what it needs of the request.
///
/// ```
/// use sluicegate::tower::{RouteLimits, later};
///
/// async fn limit_of(user: String) -> Option<u64> {
/// #   drop(user);
///     Some(1000) // asks a database
/// }
///
/// fn with_plans(limits: RouteLimits) -> RouteLimits {
///     limits.limit(|request| {
///         let user = request.extensions.get::<String>().cloned();
///         later(async move { limit_of(user?).await })
///     })
/// }
/// ```
pub fn later<T>(answer: impl Future<Output = T> + Send + 'static) -> Answer<T> {
    Answer(State::Later(Box::pin(answer)))
}

impl<T> Answer<T> {
    /// Waits for it.
    pub(super) async fn get(self) -> T {
        match self.0 {
            State::Now(value) => value,
            State::Later(value) => value.await,
        }
    }
}

impl<T> From<T> for Answer<T> {
    fn from(value: T) -> Self {
        Self(State::Now(value))
    }
}

impl<T: fmt::Debug> fmt::Debug for Answer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            State::Now(value) => f.debug_tuple("Answer").field(value).finish(),
            State::Later(_) => f.debug_tuple("Answer").finish_non_exhaustive(),
        }
    }
}

/// A function of the application about the head of a request.
pub(super) type Hook<T> = Arc<dyn Fn(&Parts) -> Answer<T> + Send + Sync>;

/// One that may find nothing.
pub(super) type Find<T> = Hook<Option<T>>;

/// Makes a hook of a function that answers at once or later.
pub(super) fn hook<T, A: Into<Answer<T>>>(function: impl Fn(&Parts) -> A + Send + Sync + 'static) -> Hook<T> {
    Arc::new(move |parts: &Parts| function(parts).into())
}

/// What a function of the application finds, if there is one.
pub(super) async fn find<T>(function: &Option<Find<T>>, parts: &Parts) -> Option<T> {
    match function {
        Some(find) => find(parts).get().await,
        None => None,
    }
}
