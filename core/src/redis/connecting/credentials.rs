//! What a new connection signs in with, where a function of the caller says so.

use std::borrow::Cow;
use std::io;
use std::sync::mpsc::RecvTimeoutError;

use super::connector::Connector;
use super::deadline::Deadline;
use crate::options::Credentials;
use crate::redis::settings::login::Role;

impl Connector {
    /// The same with the login of a new connection. Sentinels have users of their own, whom the URL names.
    pub(in crate::redis) fn signed_in(
        &self,
        role: Role,
        deadline: Deadline<'_>,
    ) -> io::Result<Cow<'_, Self>> {
        let Some(provider) = self.options.credentials.as_ref().filter(|_| role == Role::Data) else {
            return Ok(Cow::Borrowed(self));
        };
        let reply = provider.ask()?;
        loop {
            match reply.recv_timeout(deadline.next().map_err(in_time)?) {
                Ok(credentials) => return Ok(Cow::Owned(self.with_login(credentials?))),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(io::Error::other("`credentials` could not be asked"));
                }
            }
        }
    }

    fn with_login(&self, Credentials { user, password }: Credentials) -> Self {
        let mut connector = self.clone();
        connector.url.login.user = user;
        connector.url.login.password = Some(password);
        connector
    }
}

/// The server is not to blame for the time that the function takes.
fn in_time(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::TimedOut {
        return io::Error::other("`credentials` took too long");
    }
    error
}
