//! Calls of one kind are sent as one script.

use std::collections::HashMap;
use std::ptr;

use ::redis::{RedisError, Value};

use super::errors::Failure;
use super::reply::Reply;
use super::slots::slot_of;
use crate::script::{Call, Script};

/// The most calls in one script: it keeps the server from everybody else while it runs.
const LARGEST: usize = 64;

/// Calls that one script carries out: those of which the same is asked for different keys.
pub(super) struct Bundle<'a> {
    script: &'static Script,
    args: &'a [Vec<u8>],
    keys: Vec<String>,
    /// Where its calls stand among all.
    pub(super) places: Vec<usize>,
}

impl<'a> Bundle<'a> {
    fn of_one(call: &Call<'a>, place: usize) -> Self {
        Self { script: call.script, args: call.args, keys: call.keys.to_vec(), places: vec![place] }
    }

    fn add(&mut self, call: &Call<'_>, place: usize) {
        self.keys.extend_from_slice(call.keys);
        self.places.push(place);
    }

    fn is_one(&self) -> bool {
        self.places.len() == 1
    }

    pub(super) fn call(&self) -> Call<'_> {
        let script = self.script.each.as_deref().filter(|_| !self.is_one()).unwrap_or(self.script);
        Call { script, keys: &self.keys, args: self.args }
    }
}

/// What came of a call; nothing, if no server has executed it.
pub(super) type Outcome = Option<Result<Value, Failure>>;

/// What a reply says about each of the calls of a bundle of this size.
pub(super) fn settle(
    reply: Result<Reply, Failure>,
    size: usize,
    explain: impl Fn(&RedisError) -> Failure,
) -> Vec<Outcome> {
    match reply {
        Ok(Reply::Done(value)) => {
            let outcome = |value: Value| Some(value.extract_error().map_err(|err| explain(&err)));
            split(value, size).into_iter().map(outcome).collect()
        }
        Ok(Reply::Moved(_) | Reply::Ask(_) | Reply::TryAgain) => vec![None; size],
        Err(failure) => vec![Some(Err(failure)); size],
    }
}

/// The reply to each of the calls of a bundle of this size.
fn split(reply: Value, size: usize) -> Vec<Value> {
    match reply {
        Value::Array(replies) if size > 1 && replies.len() == size => replies,
        // Nonsense from many is nonsense for each: whoever reads it says so.
        _ if size > 1 => vec![Value::Nil; size],
        reply => vec![reply],
    }
}

/// What calls have in common that can share a script: script, arguments and, where that matters, hash slot.
type Kind<'a> = (*const Script, &'a [u8], Option<u16>);

/// The kind of a call; none, if it has to be sent on its own.
fn kind<'a>(call: &Call<'a>, minds_slots: bool) -> Option<Kind<'a>> {
    match (&call.script.each, call.keys, call.args) {
        (Some(_), [key], [arg]) => {
            let slot = minds_slots.then(|| slot_of(key.as_bytes()));
            Some((ptr::from_ref(call.script), arg, slot))
        }
        _ => None,
    }
}

/// Bundles calls, which are given with their places. Of those that touch the same key, the earlier ones stay
/// before the later ones.
pub(super) fn bundle<'a>(
    calls: impl IntoIterator<Item = (usize, &'a Call<'a>)>,
    minds_slots: bool,
) -> Vec<Bundle<'a>> {
    let mut bundles: Vec<Bundle<'a>> = Vec::new();
    let mut growing: HashMap<Kind<'_>, usize> = HashMap::new();
    let mut last_with: HashMap<&str, usize> = HashMap::new();
    for (place, call) in calls {
        let kind = kind(call, minds_slots);
        let earliest = call.keys.iter().filter_map(|key| last_with.get(key.as_str())).max().copied();
        let open = kind.and_then(|kind| growing.get(&kind)).copied().filter(|&open| Some(open) >= earliest);
        let index = match open.and_then(|open| Some((open, bundles.get_mut(open)?))) {
            Some((open, bundle)) if bundle.places.len() < LARGEST => {
                bundle.add(call, place);
                open
            }
            _ => {
                bundles.push(Bundle::of_one(call, place));
                bundles.len() - 1
            }
        };
        growing.extend(kind.map(|kind| (kind, index)));
        last_with.extend(call.keys.iter().map(|key| (key.as_str(), index)));
    }
    bundles
}

#[cfg(test)]
mod tests {
    use super::super::tests::eternal;
    use super::*;

    const REFUND: u8 = u8::MAX;

    /// The places of each bundle, of calls given as (key, argument). A refund has no script for several keys.
    fn places(calls: &[(&str, u8)], minds_slots: bool) -> Vec<Vec<usize>> {
        let (script, refund) = (check(), eternal(Script::new("refund".to_owned())));
        let parts: Vec<_> = calls.iter().map(|(key, arg)| ([(*key).to_owned()], [vec![*arg]])).collect();
        let script_of = |arg: &Vec<u8>| if *arg == [REFUND] { refund } else { script };
        let call = parts.iter().map(|(keys, args)| Call { script: script_of(&args[0]), keys, args });
        let calls: Vec<_> = call.collect();
        bundle(calls.iter().enumerate(), minds_slots).into_iter().map(|bundle| bundle.places).collect()
    }

    fn check() -> &'static Script {
        eternal(Script::new("one".to_owned()).with_each("each".to_owned()))
    }

    #[test]
    fn what_is_asked_alike_goes_together() {
        assert_eq!(places(&[("a", 1), ("b", 2), ("c", 1), ("a", 1)], false), [vec![0, 2, 3], vec![1]]);
    }

    #[test]
    fn calls_about_one_key_keep_their_order() {
        // The peek of b must not overtake its check.
        let (peek, check) = (0, 1);
        let calls = [("a", peek), ("b", check), ("b", peek), ("c", check), ("a", peek)];
        assert_eq!(places(&calls, false), [vec![0], vec![1, 3], vec![2, 4]]);
        let calls = [("a", check), ("b", REFUND), ("b", check), ("c", check)];
        assert_eq!(places(&calls, false), [vec![0], vec![1], vec![2, 3]]);
    }

    #[test]
    fn a_bundle_has_a_largest_size() {
        let calls = vec![("a", 1); LARGEST * 2 + 1];
        let sizes: Vec<_> = places(&calls, false).iter().map(Vec::len).collect();
        assert_eq!(sizes, [LARGEST, LARGEST, 1]);
    }

    #[test]
    fn slots_are_kept_apart_where_they_matter() {
        let calls = [("{a}1", 1), ("{b}1", 1), ("{a}2", 1)];
        assert_eq!(places(&calls, true), [vec![0, 2], vec![1]]);
        assert_eq!(places(&calls, false), [vec![0, 1, 2]]);
    }

    #[test]
    fn a_call_without_company_is_sent_as_it_is() {
        let script = check();
        let (keys, args) = ([String::from("a")], [vec![1]]);
        let call = Call { script, keys: &keys, args: &args };
        let alone = bundle([(0, &call)], false);
        assert!(ptr::eq(alone[0].call().script, script));
        let company = bundle([(0, &call), (1, &call)], false);
        assert!(!ptr::eq(company[0].call().script, script));
    }
}
