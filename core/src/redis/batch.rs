//! Many scripts at once, for the bindings to other languages: one pipeline to each server, in which one script
//! carries out all calls that ask the same for different keys. That halves what the server has to do for each.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ::redis::Value;
use futures_util::future::join_all;

use super::asynchronous::AsyncRedis;
use super::bundle::{Bundle, Outcome, bundle, settle};
use super::errors::Failure;
use super::link::Link;
use super::reply::{self, Request};
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
        let mut outcomes: Vec<Outcome> = calls.iter().map(|_| None).collect();
        let carried_out = join_all(shares.iter().map(|share| self.carry_out_share(share, calls))).await;
        for (place, outcome) in carried_out.into_iter().flatten() {
            outcomes[place] = outcome;
        }
        // What was not executed, because another server is in charge, say, goes once more on its own.
        let left: Vec<_> = (0..calls.len()).filter(|&place| outcomes[place].is_none()).collect();
        let results = join_all(left.iter().map(|&place| self.call(&calls[place]))).await;
        for (place, result) in left.into_iter().zip(results) {
            outcomes[place] = Some(result.map_err(Failure::from));
        }
        outcomes.into_iter().flatten().map(|result| result.map_err(|failure| failure.error)).collect()
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

    async fn carry_out_share(&self, share: &Share, calls: &[Call<'_>]) -> Vec<(usize, Outcome)> {
        let minds_slots = self.minds_slots.load(Ordering::Relaxed);
        let bundles = bundle(share.places.iter().map(|&place| (place, &calls[place])), minds_slots);
        let sent: Vec<_> = bundles.iter().map(Bundle::call).collect();
        let requests: Vec<_> = sent.iter().map(Request::Script).collect();
        let mut outcomes = Vec::with_capacity(share.places.len());
        match share.link.pipeline(&requests).await {
            Ok(answers) => {
                for (bundle, answer) in bundles.iter().zip(answers) {
                    let settled = self.settle(&share.link, bundle, answer).await;
                    outcomes.extend(bundle.places.iter().copied().zip(settled));
                }
            }
            Err(failure) => {
                outcomes.extend(share.places.iter().map(|&place| (place, Some(Err(failure.clone())))));
            }
        }
        self.note(&share.link, &outcomes);
        outcomes
    }

    /// What an answer says about each call of a bundle.
    async fn settle(&self, link: &Link, bundle: &Bundle<'_>, answer: Value) -> Vec<Outcome> {
        let answer = Ok(answer);
        if reply::is_across_slots(&answer) {
            self.minds_slots.store(true, Ordering::Relaxed);
            return bundle.places.iter().map(|_| None).collect();
        }
        if bundle.places.len() > 1 && reply::is_forbidden(&answer) {
            return bundle.places.iter().map(|_| None).collect();
        }
        let reply = if reply::is_unknown_script(&answer) {
            link.request(&Request::Script(&bundle.call()), false).await
        } else {
            link.read(answer)
        };
        settle(reply, bundle.places.len(), |err| link.explain(err))
    }

    fn note(&self, link: &Link, outcomes: &[(usize, Outcome)]) {
        let moved_on =
            |(_, outcome): &(usize, Outcome)| matches!(outcome, Some(Err(failure)) if failure.moved_on);
        if let Router::Learnt(learnt) = &self.router
            && outcomes.iter().any(moved_on)
        {
            learnt.doubt(link.address());
        }
    }
}
