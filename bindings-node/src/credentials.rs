//! User and password of new connections, as a function of JavaScript gives them.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use napi_derive::napi;
use sluicegate::bridge::CredentialsReply;
use sluicegate::{Credentials, CredentialsProvider};

use crate::wake::{Wake, WakeFunction};

/// Those who wait for credentials. It lives as long as the limiter that asks; JavaScript, which its function belongs to, does
/// not keep it.
struct Asking {
    wake: Wake,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    last: u32,
    /// Not handed to JavaScript yet.
    unasked: Vec<u32>,
    replies: HashMap<u32, CredentialsReply>,
}

/// Asks a function for credentials.
#[napi]
pub struct NativeCredentials {
    /// Until a limiter has it.
    own: Mutex<Option<Arc<Asking>>>,
    asking: Weak<Asking>,
}

#[napi]
impl NativeCredentials {
    /// `wake` is called when somebody asks.
    #[napi(constructor, catch_unwind)]
    pub fn new(wake: WakeFunction) -> Self {
        let asking = Arc::new(Asking { wake: Wake::new(wake), waiting: Mutex::default() });
        Self { asking: Arc::downgrade(&asking), own: Mutex::new(Some(asking)) }
    }

    /// The numbers of those who have asked since the last call.
    #[napi(catch_unwind)]
    pub fn take(&self) -> Vec<u32> {
        let asking = self.asking.upgrade();
        asking.map(|asking| std::mem::take(&mut locked(&asking.waiting).unasked)).unwrap_or_default()
    }

    /// Hands over user and password.
    #[napi(catch_unwind)]
    pub fn give(&self, number: u32, user: Option<String>, password: String) {
        let credentials = match user {
            Some(user) => Credentials::new(user, password),
            None => Credentials::password(password),
        };
        if let Some(reply) = self.reply(number) {
            reply.give(Ok::<_, Infallible>(credentials));
        }
    }

    /// Says why there are none.
    #[napi(catch_unwind)]
    pub fn refuse(&self, number: u32, reason: String) {
        if let Some(reply) = self.reply(number) {
            reply.refuse(reason);
        }
    }

    fn reply(&self, number: u32) -> Option<CredentialsReply> {
        locked(&self.asking.upgrade()?.waiting).replies.remove(&number)
    }

    /// For the one limiter that it is made for.
    pub(crate) fn provider(&self) -> Option<CredentialsProvider> {
        let asking = locked(&self.own).take()?;
        Some(CredentialsProvider::of(move |reply| {
            let mut waiting = locked(&asking.waiting);
            waiting.last = waiting.last.wrapping_add(1);
            let number = waiting.last;
            waiting.unasked.push(number);
            waiting.replies.insert(number, reply);
            drop(waiting);
            asking.wake.call();
        }))
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
