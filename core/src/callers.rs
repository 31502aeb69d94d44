//! One call of a script for several callers of the same key, who come one after the other at one time: how its reply is
//! divided among them. `up_to.lua` of the crate `sluicegate-lua` states what a script replies.

use redis::Value;

/// What each of so many callers would have been replied alone. A reply that is about fewer gives the rest `Nil`, which no
/// reader takes.
pub(crate) fn divide(reply: Value, callers: usize) -> Vec<Value> {
    let mut replies = Vec::with_capacity(callers);
    let parts = match reply {
        Value::Array(parts) => parts,
        _ => Vec::new(),
    };
    for part in parts.as_chunks::<2>().0 {
        let [Value::Int(count), reply] = part else { break };
        let count = usize::try_from(*count).unwrap_or(0).min(callers - replies.len());
        replies.extend((0..count).map(|place| behind(place, reply)));
    }
    replies.resize(callers, Value::Nil);
    replies
}

/// A reply for the caller who is so far behind the first that it is about.
fn behind(place: usize, reply: &Value) -> Value {
    match reply {
        Value::BulkString(_) if place > 0 => Value::Array(vec![Value::Int(place as i64), reply.clone()]),
        _ => reply.clone(),
    }
}

/// How far behind the first caller a reply is, and what that one was replied.
pub(crate) fn place(reply: Value) -> (usize, Value) {
    match reply {
        Value::Array(parts) if matches!(parts.as_slice(), [Value::Int(1..), Value::BulkString(_)]) => {
            let mut parts = parts.into_iter();
            match (parts.next(), parts.next()) {
                (Some(Value::Int(place)), Some(reply)) => (usize::try_from(place).unwrap_or(0), reply),
                _ => (0, Value::Nil),
            }
        }
        reply => (0, reply),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    fn divided(parts: Vec<Value>, callers: usize) -> Vec<(usize, Value)> {
        divide(Value::Array(parts), callers).into_iter().map(place).collect()
    }

    #[test]
    fn each_caller_has_a_place_in_its_part() {
        let parts = vec![Value::Int(2), text("admitted"), Value::Int(1), text("denied")];
        assert_eq!(divided(parts, 3), [(0, text("admitted")), (1, text("admitted")), (0, text("denied"))]);
    }

    #[test]
    fn a_reply_about_another_number_of_callers_admits_nobody() {
        let nil = (0, Value::Nil);
        assert_eq!(divided(vec![Value::Int(1), text("one")], 2), [(0, text("one")), nil.clone()]);
        assert_eq!(divided(vec![Value::Int(9), text("many")], 1), [(0, text("many"))]);
        for parts in [vec![], vec![Value::Int(-1), text("none")], vec![text("one"), text("two")]] {
            assert_eq!(divided(parts, 1), std::slice::from_ref(&nil));
        }
        assert_eq!(divide(text("one"), 1), [Value::Nil]);
    }
}
