//! Calls of a bundle about one key become one call of the script, for as many callers.

use hashbrown::HashMap;
use smallvec::SmallVec;

use super::{Bundle, PendingCommand};
use crate::script::{Script, ScriptCall};

/// Whether a bundle's script decides for several callers of a key at once.
fn merges(bundle: &[PendingCommand]) -> bool {
    let call = bundle.first().and_then(PendingCommand::call);
    bundle.len() > 1 && call.is_some_and(|call| call.script.up_to.is_some())
}

/// Whether the first and the last call would become one: then most of those between them surely do.
pub(super) fn begins_and_ends_alike(queue: &[PendingCommand]) -> bool {
    let [first, .., last] = queue else { return false };
    let merges = first.call().is_some_and(|call| call.script.up_to.is_some());
    merges && last.call().is_some() && first.keys() == last.keys()
}

fn has_key_of(pair: &[PendingCommand]) -> bool {
    pair[0].keys() == pair[1].keys()
}

/// Brings the calls about one key together, in their order.
pub(super) fn bring_together(bundle: &mut Bundle) {
    if !merges(bundle) || bundle.windows(2).all(has_key_of) {
        return;
    }
    let mut places: HashMap<&str, usize> = HashMap::with_capacity(bundle.len());
    let mut places_of_calls: SmallVec<[usize; 64]> = SmallVec::with_capacity(bundle.len());
    for pending in bundle.iter() {
        let next = places.len();
        let key = pending.keys().first().map_or("", String::as_str);
        places_of_calls.push(*places.entry(key).or_insert(next));
    }
    let is_needed = places.len() < bundle.len() && !places_of_calls.is_sorted();
    drop(places);
    if !is_needed {
        return;
    }
    let mut placed: Vec<_> = places_of_calls.into_iter().zip(std::mem::take(bundle)).collect();
    // The sort is stable.
    placed.sort_by_key(|(place, _)| *place);
    bundle.extend(placed.into_iter().map(|(_, pending)| pending));
}

/// How many calls there are about each key in turn; `None` where the keys are sent as they stand, one for each call.
pub(super) fn callers_by_key(bundle: &[PendingCommand]) -> Option<SmallVec<[usize; 8]>> {
    if !merges(bundle) || !bundle.windows(2).any(has_key_of) {
        return None;
    }
    Some(bundle.chunk_by(|one, next| one.keys() == next.keys()).map(<[_]>::len).collect())
}

/// The script that carries out all calls of a bundle, of which `call` is the first.
pub(super) fn script_for(call: &ScriptCall, bundle: &[PendingCommand]) -> &'static Script {
    let script = call.script;
    let of_several = match bundle {
        [_] => None,
        _ if callers_by_key(bundle).is_some() => script.up_to.as_deref(),
        _ => script.each.as_deref(),
    };
    of_several.unwrap_or(script)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use smallvec::smallvec;

    use super::*;
    use crate::redis::tests::eternal;
    use crate::redis::wire::command::RedisCommand;

    fn bundle(keys: &[&str], merges: bool) -> Bundle {
        let script = Script::new("one".to_owned()).with_each("each".to_owned());
        let script = eternal(if merges { script.with_up_to("up to".to_owned()) } else { script });
        let call = |key: &&str| ScriptCall {
            script,
            keys: smallvec![(*key).to_owned()],
            args: smallvec![smallvec![1]],
            registration: None,
        };
        let pending =
            |(id, key)| PendingCommand::new(id, RedisCommand::Script(call(key)), false, Instant::now());
        keys.iter().enumerate().map(pending).collect()
    }

    /// The calls in the order in which they are sent, how many each key has, and the command that they are.
    fn sent(keys: &[&str], merges: bool) -> (Vec<usize>, Option<Vec<usize>>, String) {
        let mut bundle = bundle(keys, merges);
        bring_together(&mut bundle);
        let RedisCommand::Script(call) = &bundle[0].request else { panic!("no script") };
        let [_, text] = script_for(call, &bundle).eval();
        let callers = callers_by_key(&bundle).map(|callers| callers.to_vec());
        (bundle.iter().map(|pending| pending.id).collect(), callers, text.to_owned())
    }

    #[test]
    fn calls_about_one_key_are_sent_as_one_in_their_order() {
        assert_eq!(sent(&["a", "a", "a"], true), (vec![0, 1, 2], Some(vec![3]), "up to".to_owned()));
        let mixed = sent(&["a", "b", "a", "c", "b"], true);
        assert_eq!(mixed, (vec![0, 2, 1, 4, 3], Some(vec![2, 2, 1]), "up to".to_owned()));
    }

    #[test]
    fn other_calls_are_sent_as_they_are() {
        assert_eq!(sent(&["a"], true), (vec![0], None, "one".to_owned()));
        assert_eq!(sent(&["a", "b", "c"], true), (vec![0, 1, 2], None, "each".to_owned()));
        assert_eq!(sent(&["a", "b", "a"], false), (vec![0, 1, 2], None, "each".to_owned()));
    }
}
