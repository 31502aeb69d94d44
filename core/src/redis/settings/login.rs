//! What opens a conversation: protocol, login, database.

use std::time::Duration;

use ::redis::{Cmd, cmd};

use super::url::{Login, RedisUrl};
use crate::options::ConnectOptions;

/// What a server is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::redis) enum Role {
    /// It holds the state of the limits.
    Data,
    /// It knows which server does.
    Sentinel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::redis) enum HandshakeStep {
    /// HELLO or AUTH.
    Login,
    /// SELECT: its errors are the server's own words.
    Select,
    /// CLIENT TRACKING: the server announces changes of keys that it is asked to watch.
    Tracking,
    /// WAIT for no replica: the server lets this user wait for some.
    Replicas,
    /// PING: the server takes calls.
    Ping,
}

/// The commands that the connections to servers of one role begin with, in order.
pub(in crate::redis) fn handshake(
    url: &RedisUrl,
    options: &ConnectOptions,
    role: Role,
    is_tracking: bool,
) -> Vec<(HandshakeStep, Cmd)> {
    let (login, database, resp3, replicas) = match role {
        Role::Data => (&url.login, url.database, url.resp3, options.replicas),
        Role::Sentinel => (&url.sentinel_login, 0, false, 0),
    };
    let login = if resp3 { Some(hello(login)) } else { auth(login) };
    let select = (database != 0).then(|| cmd("SELECT").arg(database).take());
    let commands = [
        (HandshakeStep::Login, login),
        (HandshakeStep::Select, select),
        (HandshakeStep::Tracking, is_tracking.then(track)),
        (HandshakeStep::Replicas, (replicas > 0).then(|| wait(0, options.replica_timeout))),
        (HandshakeStep::Ping, Some(cmd("PING"))),
    ];
    commands.into_iter().filter_map(|(step, cmd)| Some((step, cmd?))).collect()
}

/// Asks for the number of replicas that have what was written on this connection: as soon as they are so many, or when the
/// time is up.
pub(in crate::redis) fn wait(replicas: u32, limit: Duration) -> Cmd {
    // A time of 0 would have no end.
    let millis = limit.as_nanos().div_ceil(1_000_000).max(1);
    cmd("WAIT").arg(replicas).arg(millis as u64).take()
}

/// Has the server announce changes of the keys of those calls that ask for it.
fn track() -> Cmd {
    cmd("CLIENT").arg("TRACKING").arg("ON").arg("OPTIN").take()
}

fn hello(login: &Login) -> Cmd {
    let mut hello = cmd("HELLO");
    hello.arg(3);
    if let Some(password) = &login.password {
        hello.arg("AUTH").arg(login.user.as_deref().unwrap_or("default")).arg(password);
    }
    hello
}

fn auth(login: &Login) -> Option<Cmd> {
    Some(cmd("AUTH").arg(login.user.as_deref()).arg(login.password.as_deref()?).take())
}
