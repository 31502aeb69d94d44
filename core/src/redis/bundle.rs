//! Calls of one kind share a script: one script carries out all calls that ask the same for different keys.

use std::ptr;

use hashbrown::HashMap;
use smallvec::SmallVec;

use super::slots::slot_of;
use crate::script::{Script, ScriptCall};

/// The most calls in one script: while it runs the server serves nobody else.
pub(super) const LARGEST: usize = 64;

/// What calls have in common that can share a script: script, arguments and, where that matters, hash slot.
type BundleKey<'a> = (*const Script, &'a [u8], Option<u16>);

/// The kind of a call; `None` if it has to be sent on its own.
fn kind(call: &ScriptCall, minds_slots: bool) -> Option<BundleKey<'_>> {
    match (&call.script.each, call.keys.as_slice(), call.args.as_slice()) {
        (Some(_), [key], [arg]) => {
            let slot = minds_slots.then(|| slot_of(key.as_bytes()));
            Some((ptr::from_ref(call.script), arg.as_slice(), slot))
        }
        _ => None,
    }
}

/// Divides items into bundles, in the order in which to send them. `call` answers the call of an item, or `None`
/// for an item to be sent alone. Of calls that touch the same key, the earlier ones stay before the later ones.
pub(super) fn bundle<T>(
    items: Vec<T>,
    call: impl Fn(&T) -> Option<&ScriptCall>,
    minds_slots: bool,
) -> Vec<SmallVec<[T; 1]>> {
    let (places, count) = places(&items, call, minds_slots);
    let mut bundles: Vec<SmallVec<[T; 1]>> = (0..count).map(|_| SmallVec::new()).collect();
    for (item, place) in items.into_iter().zip(places) {
        bundles[place].push(item);
    }
    bundles
}

/// The bundle of each item, and how many bundles there are.
fn places<T>(
    items: &[T],
    call: impl Fn(&T) -> Option<&ScriptCall>,
    minds_slots: bool,
) -> (Vec<usize>, usize) {
    let mut sizes: Vec<usize> = Vec::new();
    let mut growing: HashMap<BundleKey<'_>, usize> = HashMap::new();
    let mut last_with: HashMap<&str, usize> = HashMap::with_capacity(items.len());
    let mut places = Vec::with_capacity(items.len());
    for item in items {
        let call = call(item);
        if call.is_none() {
            // Its keys are not known here: nothing that follows may overtake it.
            growing.clear();
        }
        let keys = call.map_or(&[][..], |call| call.keys.as_slice());
        let kind = call.and_then(|call| kind(call, minds_slots));
        let earliest = keys.iter().filter_map(|key| last_with.get(key.as_str())).max().copied();
        let open = kind.and_then(|kind| growing.get(&kind)).copied();
        let place = match open.filter(|&open| Some(open) >= earliest && sizes[open] < LARGEST) {
            Some(open) => open,
            None => {
                sizes.push(0);
                sizes.len() - 1
            }
        };
        sizes[place] += 1;
        growing.extend(kind.map(|kind| (kind, place)));
        last_with.extend(keys.iter().map(|key| (key.as_str(), place)));
        places.push(place);
    }
    (places, sizes.len())
}

#[cfg(test)]
mod tests {
    use smallvec::smallvec;

    use super::super::tests::eternal;
    use super::*;

    const REFUND: u8 = u8::MAX;

    /// The items of each bundle, of calls given as (key, argument). A refund has no script for several keys.
    fn bundled(calls: &[(&str, u8)], minds_slots: bool) -> Vec<Vec<usize>> {
        let (script, refund) = (check(), eternal(Script::new("refund".to_owned())));
        let call = |(place, (key, arg)): (usize, &(&str, u8))| {
            let script = if *arg == REFUND { refund } else { script };
            (place, ScriptCall { script, keys: smallvec![(*key).to_owned()], args: smallvec![vec![*arg]] })
        };
        let calls: Vec<_> = calls.iter().enumerate().map(call).collect();
        let bundles = bundle(calls, |(_, call)| Some(call), minds_slots);
        bundles.into_iter().map(|bundle| bundle.into_iter().map(|(place, _)| place).collect()).collect()
    }

    fn check() -> &'static Script {
        eternal(Script::new("one".to_owned()).with_each("each".to_owned()))
    }

    #[test]
    fn what_is_asked_alike_goes_together() {
        assert_eq!(bundled(&[("a", 1), ("b", 2), ("c", 1), ("a", 1)], false), [vec![0, 2, 3], vec![1]]);
    }

    #[test]
    fn calls_about_one_key_keep_their_order() {
        // The peek of b must not overtake its check.
        let (peek, check) = (0, 1);
        let calls = [("a", peek), ("b", check), ("b", peek), ("c", check), ("a", peek)];
        assert_eq!(bundled(&calls, false), [vec![0], vec![1, 3], vec![2, 4]]);
        let calls = [("a", check), ("b", REFUND), ("b", check), ("c", check)];
        assert_eq!(bundled(&calls, false), [vec![0], vec![1], vec![2, 3]]);
    }

    #[test]
    fn nothing_overtakes_what_is_sent_alone() {
        let check =
            || ScriptCall { script: check(), keys: smallvec!["a".to_owned()], args: smallvec![vec![1]] };
        // The second may be a reset of the key of the third.
        let bundles = bundle(vec![Some(check()), None, Some(check())], Option::as_ref, false);
        assert_eq!(bundles.iter().map(SmallVec::len).collect::<Vec<_>>(), [1, 1, 1]);
    }

    #[test]
    fn a_bundle_has_a_largest_size() {
        let calls = vec![("a", 1); LARGEST * 2 + 1];
        let sizes: Vec<_> = bundled(&calls, false).iter().map(Vec::len).collect();
        assert_eq!(sizes, [LARGEST, LARGEST, 1]);
    }

    #[test]
    fn slots_are_kept_apart_where_they_matter() {
        let calls = [("{a}1", 1), ("{b}1", 1), ("{a}2", 1)];
        assert_eq!(bundled(&calls, true), [vec![0, 2], vec![1]]);
        assert_eq!(bundled(&calls, false), [vec![0, 1, 2]]);
    }
}
