//! Reservations that are renewed for as long as some work takes.

use std::pin::pin;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use super::backend::Limiter;
use super::driver::Driver;
use super::{AsyncRateLimiter, RateLimiter};
use crate::error::{ErrorKind, Result};
use crate::plan::Plan;
use crate::reservation::{ReservationRef, Usage};

/// A failed renewal is tried again after this part of the lease, to be in time more than once.
pub(crate) const RETRY_PART: u32 = 8;

impl RateLimiter {
    /// Runs `work` on this thread, and renews a reservation in the background meanwhile, at half its lease: a job that takes
    /// longer than the lease keeps its place. The reservation is still to be committed or released; that answers `false` if
    /// the lease was lost all the same, as when the server was away for too long, which is logged as a warning too.
    ///
    /// Where nothing is held, as of a reservation that was denied, nothing is renewed.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for an id that is none, before the work begins.
    ///
    /// ```
    /// use sluicegate::{RateLimiter, Rules, Usage};
    ///
    /// let rules = Rules::from_json(r#"[{"rule_id": "jobs", "algorithm": "concurrency", "limit": 1}]"#)?;
    /// let limiter = RateLimiter::builder("memory://").rules(rules).build()?;
    /// let held = limiter.reserve("jobs", "report")?;
    /// if held.allowed {
    ///     let pages = limiter.while_renewed(&held, || 17)?;
    ///     assert_eq!(pages, 17);
    ///     assert!(limiter.commit(&held, Usage::AsReserved)?);
    /// }
    /// # Ok::<(), sluicegate::Error>(())
    /// ```
    pub fn while_renewed<'a, T>(
        &self,
        reservation: impl Into<ReservationRef<'a>>,
        work: impl FnOnce() -> T,
    ) -> Result<T> {
        let reservation = reservation.into();
        let Some(lease) = self.limiter.lease_of(&reservation)? else { return Ok(work()) };
        // The sender goes when the work ends, also by a panic.
        let (working, ended) = channel::<()>();
        thread::scope(|scope| {
            scope.spawn(move || {
                let mut renewals = Renewals { lease, has_failed: false };
                let mut pause = lease / 2;
                while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(pause) {
                    match renewals.next_pause(self.renew(reservation)) {
                        Some(next) => pause = next,
                        None => return,
                    }
                }
            });
            let _working = working;
            Ok(work())
        })
    }
}

impl AsyncRateLimiter {
    /// Awaits `work`, and renews a reservation meanwhile, at half its lease: a job that takes longer than the lease keeps its
    /// place. It is renewed while the work awaits something: work that blocks the thread holds that up too. The reservation
    /// is still to be committed or released; that answers `false` if the lease was lost all the same, as when the server was
    /// away for too long, which is logged as a warning too.
    ///
    /// Where nothing is held, as of a reservation that was denied, nothing is renewed.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for an id that is none, before the work begins.
    pub async fn while_renewed<'a, T>(
        &self,
        reservation: impl Into<ReservationRef<'a>>,
        work: impl Future<Output = T>,
    ) -> Result<T> {
        let reservation = reservation.into();
        let Some(lease) = self.limiter.lease_of(&reservation)? else { return Ok(work.await) };
        let renewing = async {
            let mut renewals = Renewals { lease, has_failed: false };
            let mut pause = lease / 2;
            loop {
                tokio::time::sleep(pause).await;
                match renewals.next_pause(self.renew(reservation).await) {
                    Some(next) => pause = next,
                    None => return std::future::pending::<()>().await,
                }
            }
        };
        let (work, renewing) = (pin!(work), pin!(renewing));
        tokio::select! {
            biased;
            done = work => Ok(done),
            () = renewing => unreachable!("it is pending for ever"),
        }
    }
}

/// The renewals of one reservation.
struct Renewals {
    lease: Duration,
    /// Whether the last one failed, which was said then.
    has_failed: bool,
}

impl Renewals {
    /// How long to wait until the next renewal; `None` where there is nothing to renew any more.
    fn next_pause(&mut self, renewed: Result<bool>) -> Option<Duration> {
        let has_failed = std::mem::replace(&mut self.has_failed, renewed.is_err());
        match renewed {
            Ok(true) => Some(self.lease / 2),
            Ok(false) => {
                log::warn!(
                    "a reservation is renewed no longer: its lease of {} s had ended, or it was ended elsewhere; others may run \
                     at the same time",
                    self.lease.as_secs_f64()
                );
                None
            }
            Err(error) if error.kind() == ErrorKind::Closed => None,
            Err(error) => {
                if !has_failed {
                    log::warn!("a reservation could not be renewed, and is tried again: {error}");
                }
                Some(self.lease / RETRY_PART)
            }
        }
    }
}

impl<D: Driver> Limiter<D> {
    /// How soon a reservation ends unless it is renewed, by the rules in force; `None` where nothing is held.
    fn lease_of(&self, reservation: &ReservationRef<'_>) -> Result<Option<Duration>> {
        let Some(ticket) = reservation.ticket(&self.shared.wire.prefix)? else { return Ok(None) };
        let catalog = self.catalog();
        let plan = Plan::of_ticket(&catalog, &ticket, &Usage::AsReserved.costs(&ticket)?)?;
        let lease = plan.holders.iter().map(|holder| holder.lease).min();
        Ok(lease.map(|lease| Duration::from_micros(lease.unsigned_abs())))
    }
}
