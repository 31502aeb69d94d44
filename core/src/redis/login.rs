//! What opens a conversation: protocol, login, database.

use ::redis::Cmd;

use super::url::{Login, RedisUrl};

/// What a server is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It holds the state of the limits.
    Data,
    /// It knows which server does.
    Sentinel,
}

/// What the connections to servers of one role say first.
#[derive(Clone, Default)]
pub(super) struct Handshake {
    login: Login,
    database: u32,
    resp3: bool,
}

/// One command of the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HandshakeStep {
    /// HELLO or AUTH.
    Login,
    /// SELECT: its errors are the server's own words.
    Select,
    /// PING: the server takes calls.
    Ping,
}

impl Handshake {
    /// To servers with the state of limits.
    pub(super) fn of_data(url: &RedisUrl) -> Self {
        Self { login: url.login.clone(), database: url.database, resp3: url.resp3 }
    }

    /// To Sentinels.
    pub(super) fn of_sentinels(url: &RedisUrl) -> Self {
        Self { login: url.sentinel_login.clone(), database: 0, resp3: false }
    }

    /// The commands, in order.
    pub(super) fn commands(&self) -> Vec<(HandshakeStep, Cmd)> {
        let login = if self.resp3 { Some(self.hello()) } else { self.auth() };
        let select = (self.database != 0).then(|| {
            let mut select = ::redis::cmd("SELECT");
            select.arg(self.database);
            select
        });
        let commands = [
            (HandshakeStep::Login, login),
            (HandshakeStep::Select, select),
            (HandshakeStep::Ping, Some(::redis::cmd("PING"))),
        ];
        commands.into_iter().filter_map(|(step, cmd)| Some((step, cmd?))).collect()
    }

    fn hello(&self) -> Cmd {
        let mut hello = ::redis::cmd("HELLO");
        hello.arg(3);
        if let Some(password) = &self.login.password {
            hello.arg("AUTH").arg(self.login.user.as_deref().unwrap_or("default")).arg(password);
        }
        hello
    }

    fn auth(&self) -> Option<Cmd> {
        let mut auth = ::redis::cmd("AUTH");
        auth.arg(self.login.user.as_deref()).arg(self.login.password.as_deref()?);
        Some(auth)
    }
}
