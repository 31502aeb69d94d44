//! What opens a conversation: protocol, login, database.

use ::redis::{Cmd, cmd};

use super::url::{Login, RedisUrl};

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
    /// PING: the server takes calls.
    Ping,
}

/// The commands that the connections to servers of one role begin with, in order.
pub(in crate::redis) fn handshake(url: &RedisUrl, role: Role) -> Vec<(HandshakeStep, Cmd)> {
    let (login, database, resp3) = match role {
        Role::Data => (&url.login, url.database, url.resp3),
        Role::Sentinel => (&url.sentinel_login, 0, false),
    };
    let login = if resp3 { Some(hello(login)) } else { auth(login) };
    let select = (database != 0).then(|| cmd("SELECT").arg(database).take());
    let commands = [
        (HandshakeStep::Login, login),
        (HandshakeStep::Select, select),
        (HandshakeStep::Ping, Some(cmd("PING"))),
    ];
    commands.into_iter().filter_map(|(step, cmd)| Some((step, cmd?))).collect()
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
