//! Looking into a server, for assertions. Only tests may scan a keyspace.

use std::collections::BTreeSet;

use redis::Connection;

use crate::Result;

/// What PTTL answers for a key that never expires.
const NO_TTL: i64 = -1;

/// The keys of the connection's database that would stay for ever, in order.
pub fn keys_without_ttl(connection: &mut Connection) -> Result<Vec<String>> {
    // A set, because SCAN may name a key twice.
    let mut forever = BTreeSet::new();
    let mut cursor = 0_u64;
    loop {
        let (next, keys): (u64, Vec<Vec<u8>>) =
            redis::cmd("SCAN").arg(cursor).arg("COUNT").arg(1000).query(connection)?;
        for key in keys {
            let ttl: i64 = redis::cmd("PTTL").arg(&key).query(connection)?;
            if ttl == NO_TTL {
                forever.insert(String::from_utf8_lossy(&key).into_owned());
            }
        }
        if next == 0 {
            return Ok(forever.into_iter().collect());
        }
        cursor = next;
    }
}

/// The value of `name` in what INFO or CLUSTER INFO answered.
pub(crate) fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
}
