//! Requests in flight: what was reserved for one is held until its response is over.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use http::response::Parts;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::count::Count;
use crate::events::Seldom;
use crate::limiter::RETRY_PART;
use crate::{AsyncRateLimiter, ErrorKind, Reservation, Usage};

/// What is held for one request: renewed at half its lease, and when this is dropped committed as it was reserved, or released
/// where the response is not to be charged, unless the application has ended it.
pub(super) struct Flight {
    limiter: Arc<AsyncRateLimiter>,
    reservation: Arc<Reservation>,
    runtime: Option<Handle>,
    renewal: Option<AbortHandle>,
    count: Count,
    /// Whether it is charged, once there is a response.
    is_charged: Option<bool>,
}

impl Flight {
    /// Nothing where nothing is held.
    pub(super) fn begin(
        (limiter, reservation): (Arc<AsyncRateLimiter>, Arc<Reservation>),
        most: Duration,
        count: Count,
    ) -> Option<Self> {
        let lease = reservation.lease()?;
        let runtime = Handle::try_current().ok();
        let renewing = renew(Arc::clone(&limiter), Arc::clone(&reservation), lease, most);
        let renewal = runtime.as_ref().map(|runtime| runtime.spawn(renewing).abort_handle());
        Some(Self { limiter, reservation, runtime, renewal, count, is_charged: None })
    }

    /// Takes note of the response.
    pub(super) fn answered(&mut self, head: &Parts) {
        self.is_charged = Some(self.count.is_charged(head));
    }
}

/// Renews for as long as `most`: then a response that is not over yet is not waited for any longer.
async fn renew(
    limiter: Arc<AsyncRateLimiter>,
    reservation: Arc<Reservation>,
    lease: Duration,
    most: Duration,
) {
    static FAILED: Seldom = Seldom::new();
    let (began, mut pause) = (Instant::now(), lease / 2);
    loop {
        tokio::time::sleep(pause).await;
        if reservation.is_over() {
            return;
        }
        if began.elapsed() >= most {
            log::warn!(
                "a reservation is not renewed any more: the response to its request is not over after {} s (raise \
                 max_lease if requests take that long)",
                most.as_secs_f64()
            );
            return;
        }
        match limiter.renew(&*reservation).await {
            Ok(true) => pause = lease / 2,
            Ok(false) => return,
            Err(error) if error.kind() == ErrorKind::Closed => return,
            Err(error) => {
                pause = lease / RETRY_PART;
                FAILED.warn(format_args!("what was reserved for a request could not be renewed: {error}"));
            }
        }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if let Some(renewal) = &self.renewal {
            renewal.abort();
        }
        if self.reservation.is_over() {
            return;
        }
        let (limiter, reservation) = (Arc::clone(&self.limiter), Arc::clone(&self.reservation));
        let is_charged = self.is_charged.unwrap_or_else(|| self.count.is_charged_unanswered());
        let mut ending = Box::pin(async move {
            let ended = match is_charged {
                true => limiter.commit(&*reservation, Usage::AsReserved).await,
                false => limiter.release(&*reservation).await,
            };
            if let Err(error) = ended {
                static HELD: Seldom = Seldom::new();
                HELD.warn(format_args!(
                    "what was reserved for a request is held until its lease ends: {error}"
                ));
            }
        });
        // Sent before the last byte of the response: the client's next request is to find the place free.
        let is_sent = ending.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        if let (Poll::Pending, Some(runtime)) = (is_sent, &self.runtime) {
            runtime.spawn(ending);
        }
    }
}
