//! What a server says it is: a primary or a replica.

use ::redis::{Cmd, Value, cmd, from_redis_value_ref};

/// The question.
pub(in crate::redis) fn role() -> Cmd {
    cmd("ROLE")
}

/// Whether the answer to [`role`] is that of a primary.
pub(in crate::redis) fn is_primary(value: &Value) -> bool {
    is_role(value, "master")
}

/// Whether the answer to [`role`] is that of a replica.
pub(in crate::redis) fn is_replica(value: &Value) -> bool {
    is_role(value, "slave")
}

fn is_role(value: &Value, role: &str) -> bool {
    let Value::Array(items) = value else { return false };
    items.first().is_some_and(|first| from_redis_value_ref(first).is_ok_and(|name: String| name == role))
}
