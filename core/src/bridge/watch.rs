//! What a foreign loop does that can watch a socket: checks then take no way through another thread.
//!
//! 1. It says so, by [`Bridge::want_socket`]. From then on, whenever it is woken, it asks [`Bridge::new_socket`]
//!    for one to watch, and [`Bridge::is_socket_over`] whether to watch that no longer; then
//!    [`Bridge::end_socket`].
//! 2. When the socket is readable, it calls [`Bridge::read_socket`].
//! 3. While calls are under way it calls [`Bridge::expire`] from time to time, since what is sent that way has
//!    no other timer.
//! 4. After any of these, and after [`Bridge::submit`], it calls [`Bridge::drain`]: it is not woken for
//!    answers that are found on its own thread.

use std::time::Duration;

use super::traffic::News;
use super::{Ask, Bridge};
use crate::fork::generation;
use crate::limiter::AsyncRateLimiter;

impl Bridge {
    /// Announces a loop that can watch sockets. To be called once the limiter is open.
    pub fn want_socket(&self) {
        if self.is_mine() && self.shared.direct.want() {
            self.open_direct();
        }
    }

    /// A socket that is to be watched from now on.
    pub fn new_socket(&self) -> Option<i32> {
        if self.is_mine() { self.shared.direct.begin() } else { None }
    }

    /// Whether the socket should no longer be watched.
    pub fn is_socket_over(&self) -> bool {
        self.is_mine() && self.shared.direct.is_over()
    }

    /// Closes the socket, which is not watched any more.
    pub fn end_socket(&self) {
        if self.is_mine() {
            self.shared.direct.end();
        }
    }

    /// Whether a check that is submitted now is the only one on the socket.
    pub fn is_socket_idle(&self) -> bool {
        self.is_mine() && self.shared.direct.is_idle()
    }

    /// Takes up what can be read.
    pub fn read_socket(&self) {
        if let Some(limiter) = self.mine() {
            self.publish(self.shared.direct.read(limiter));
        }
    }

    /// Waits a moment for the answer to a check that is alone on the socket; to be called when the loop has
    /// nothing else to do.
    pub fn wait_awake(&self) {
        if let Some(limiter) = self.mine() {
            self.publish(self.shared.direct.wait_awake(limiter));
        }
    }

    /// Ends the calls on the socket whose time is up. Answers when to call it again, if any are under way.
    pub fn expire(&self) -> Option<Duration> {
        let (news, left) = self.shared.direct.expire(self.mine()?);
        self.publish(news);
        left
    }

    /// Sends what can go by the socket; answers the rest.
    pub(super) fn submit_direct(&self, asks: Vec<(u64, Ask)>) -> Vec<(u64, Ask)> {
        let Some(limiter) = self.limiter() else { return asks };
        let (mut news, is_missing) = self.shared.direct.submit(limiter, asks);
        if is_missing {
            self.open_direct();
        }
        let rest = std::mem::take(&mut news.rest);
        self.publish(news);
        rest
    }

    pub(super) fn close_direct(&self) {
        self.publish(self.shared.direct.close());
    }

    fn open_direct(&self) {
        if let Some(runner) = self.runner.get() {
            runner.open();
        }
    }

    fn publish(&self, news: News) {
        self.shared.keep(news.done);
        if news.is_over {
            if let Some(limiter) = self.limiter() {
                limiter.renew();
            }
            (self.shared.wake)();
        }
        if let (false, Some(runner)) = (news.rest.is_empty(), self.runner.get()) {
            runner.submit(news.rest, &self.shared);
        }
    }

    /// The limiter, in the process that opened it: a forked child must not touch the socket.
    fn mine(&self) -> Option<&AsyncRateLimiter> {
        if self.is_mine() { self.limiter() } else { None }
    }

    fn is_mine(&self) -> bool {
        generation() == self.generation
    }
}
