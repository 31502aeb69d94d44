//! A connection to the server that the foreign loop serves itself, so that no thread lies between a call and
//! its answer. The runner opens it; all else happens on the loop's thread.

use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::traffic::{News, Traffic};
use super::{Ask, Shared};
use crate::limiter::AsyncRateLimiter;
use crate::redis::Direct as Connection;

/// How long a connection that could not be opened is not tried again.
const PAUSE: Duration = Duration::from_millis(100);

/// Opens a connection, if there can be one, on the runner's thread.
pub(super) async fn open(limiter: Arc<AsyncRateLimiter>, shared: Arc<Shared>) {
    let Some(opener) = limiter.opener() else { return };
    let opened = spawn_blocking(move || opener.open()).await.ok().flatten();
    if opened.is_none() {
        sleep(PAUSE).await;
    }
    if shared.direct.opened(opened) {
        (shared.wake)();
    }
}

/// The place of the connection.
#[derive(Default)]
pub(super) struct Direct(Mutex<Place>);

#[derive(Default)]
struct Place {
    /// Whether the loop can watch a connection, and the limiter is not closed.
    wanted: bool,
    content: Content,
}

#[derive(Default)]
enum Content {
    #[default]
    Nothing,
    /// The runner opens it.
    Opening,
    /// To be watched.
    Open(Connection),
    /// Watched, or about to be no longer.
    InUse(Traffic),
}

impl Direct {
    /// The loop can watch a connection. Answers whether one is to be opened.
    pub(super) fn want(&self) -> bool {
        let mut place = self.lock();
        place.wanted = true;
        place.is_missing()
    }

    /// Puts in place what the runner opened, or not; answers whether the loop is to hear of it.
    pub(super) fn opened(&self, connection: Option<Connection>) -> bool {
        let mut place = self.lock();
        place.content = connection.filter(|_| place.wanted).map_or(Content::Nothing, Content::Open);
        matches!(place.content, Content::Open(_))
    }

    /// Takes a new connection into use, which the loop has to watch.
    pub(super) fn begin(&self) -> Option<i32> {
        let mut place = self.lock();
        match std::mem::take(&mut place.content) {
            Content::Open(connection) => {
                let descriptor = connection.as_raw_fd();
                place.content = Content::InUse(Traffic::new(connection));
                Some(descriptor)
            }
            other => {
                place.content = other;
                None
            }
        }
    }

    /// Whether the loop should no longer watch the connection.
    pub(super) fn is_over(&self) -> bool {
        matches!(&self.lock().content, Content::InUse(traffic) if traffic.is_over())
    }

    /// Closes the connection, which the loop does not watch any more.
    pub(super) fn end(&self) {
        let mut place = self.lock();
        if let Content::InUse(_) = place.content {
            place.content = Content::Nothing;
        }
    }

    /// Whether a call that is sent now has the connection for itself.
    pub(super) fn is_idle(&self) -> bool {
        matches!(&self.lock().content, Content::InUse(traffic) if traffic.takes_calls() && traffic.is_idle())
    }

    /// Sends what can be sent here; answers too whether a connection is to be opened for the next time.
    pub(super) fn submit(&self, limiter: &AsyncRateLimiter, asks: Vec<(u64, Ask)>) -> (News, bool) {
        let mut place = self.lock();
        let mut news = News::default();
        match &mut place.content {
            Content::InUse(traffic) if traffic.takes_calls() => traffic.send(limiter, asks, &mut news),
            _ => news.rest = asks,
        }
        (news, place.is_missing())
    }

    /// Takes up answers that have come.
    pub(super) fn read(&self, limiter: &AsyncRateLimiter) -> News {
        self.with_traffic(|traffic, news| traffic.read(limiter, news)).0
    }

    /// See [`Traffic::wait_awake`].
    pub(super) fn wait_awake(&self, limiter: &AsyncRateLimiter) -> News {
        self.with_traffic(|traffic, news| traffic.wait_awake(limiter, news)).0
    }

    /// See [`Traffic::expire`].
    pub(super) fn expire(&self, limiter: &AsyncRateLimiter) -> (News, Option<Duration>) {
        let (news, left) = self.with_traffic(|traffic, news| traffic.expire(limiter, news));
        (news, left.flatten())
    }

    /// The limiter is closed: no more calls. Those under way can still be answered.
    pub(super) fn close(&self) -> News {
        let mut place = self.lock();
        place.wanted = false;
        if let Content::Open(_) = place.content {
            place.content = Content::Nothing;
        }
        drop(place);
        self.with_traffic(Traffic::retire).0
    }

    fn with_traffic<T>(&self, act: impl FnOnce(&mut Traffic, &mut News) -> T) -> (News, Option<T>) {
        let mut news = News::default();
        let result = match &mut self.lock().content {
            Content::InUse(traffic) => Some(act(traffic, &mut news)),
            _ => None,
        };
        (news, result)
    }

    fn lock(&self) -> MutexGuard<'_, Place> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Whether a connection is wanted and not yet on its way, which it is from now on.
    fn is_missing(&mut self) -> bool {
        let is_missing = self.wanted && matches!(self.content, Content::Nothing);
        if is_missing {
            self.content = Content::Opening;
        }
        is_missing
    }
}
