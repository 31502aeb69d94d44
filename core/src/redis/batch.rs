//! Many scripts at once: one pipeline to each server, for the bindings to other languages.

use std::sync::Arc;

use ::redis::Value;
use futures_util::future::join_all;

use super::asynchronous::AsyncRedis;
use super::link::Link;
use super::reply::{Reply, Request};
use super::router::{Node, Router};
use crate::error::Result;
use crate::script::Call;

/// Calls that go to one server, as places in the batch.
struct Share {
    link: Arc<Link>,
    places: Vec<usize>,
}

impl AsyncRedis {
    /// Runs each script at most once; one reply per script, in order.
    pub(crate) async fn call_many(&self, calls: &[Call<'_>]) -> Vec<Result<Value>> {
        if let Err(error) = self.usable() {
            return calls.iter().map(|_| Err(error.clone())).collect();
        }
        let shares = self.shares(calls).await;
        let sent = join_all(shares.iter().map(|share| async {
            let requests: Vec<_> = share.places.iter().map(|&place| Request::Script(&calls[place])).collect();
            share.link.pipeline(&requests).await
        }));
        let mut replies: Vec<_> = calls.iter().map(|_| None).collect();
        for (share, sent) in shares.iter().zip(sent.await) {
            for (&place, reply) in share.places.iter().zip(sent) {
                if let (Router::Learnt(learnt), Some(Err(failure))) = (&self.router, &reply)
                    && failure.moved_on
                {
                    learnt.doubt(share.link.address());
                }
                replies[place] = reply;
            }
        }
        // What no server has executed (it asked for the whole script, or pointed to another server) goes
        // once more, on its own.
        join_all(calls.iter().zip(replies).map(|(call, reply)| async {
            match reply {
                Some(Ok(Reply::Done(value))) => Ok(value),
                Some(Err(failure)) => Err(failure.error),
                Some(Ok(_)) | None => self.call(call).await,
            }
        }))
        .await
    }

    /// Who gets what; calls whose server is not known are left out.
    async fn shares(&self, calls: &[Call<'_>]) -> Vec<Share> {
        let learnt = match &self.router {
            Router::Fixed(link) => {
                return vec![Share { link: Arc::clone(link), places: (0..calls.len()).collect() }];
            }
            Router::Learnt(learnt) => learnt,
        };
        if learnt.is_due() {
            // Calls that find no server say why.
            let _ = self.discover(learnt).await;
        }
        let mut shares: Vec<Share> = Vec::new();
        for (place, call) in calls.iter().enumerate() {
            let Some(link) = learnt.owner(Request::Script(call).slot()) else { continue };
            match shares.iter_mut().find(|share| Arc::ptr_eq(&share.link, &link)) {
                Some(share) => share.places.push(place),
                None => shares.push(Share { link, places: vec![place] }),
            }
        }
        shares
    }
}
