//! What servers refuse, in words for users: without what Redis adds about scripts, and never with a secret.

use ::redis::RedisError;

use super::settings::login::{HandshakeStep, Role};
use crate::error::{Error, ErrorKind};
use crate::net::address::Address;

/// What a server says that has `maxclients` connections: it has no code of its own.
const FULL: &str = "max number of clients";
/// What a server says when a script has come to a command that its user is forbidden.
const FORBIDDEN_MIDWAY: [&str; 2] = ["ACL failure in script", "The user executing the script can't run"];
/// The advice to a user whom the server's ACL forbids a command, or one of a script.
const LACKING: &str = " (`sluicegate rules acl` prints what the user has to be allowed)";

pub(super) fn server(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Server, message)
}

/// The server refused a command of the opening.
pub(super) fn refused(step: HandshakeStep, err: &RedisError, address: &Address, role: Role) -> Error {
    match (step, err.code()) {
        // The password before the hosts of the URL is that of the servers with the data.
        (_, Some("NOAUTH")) if role == Role::Sentinel => {
            server(format!("{address} requires authentication: add ?sentinel_password= to the URL"))
        }
        // Whatever else a server answers to AUTH concerns the login, even if it requires none.
        (HandshakeStep::Login, _) if !is_passing(err) => login_refused(address),
        (HandshakeStep::Replicas, Some("NOPERM")) => server(format!(
            "{address}: NOPERM this user may not run WAIT, which `replicas` needs (grant it: ACL SETUSER <user> +wait)"
        )),
        (HandshakeStep::Replicas, _) if !is_passing(err) => server(format!(
            "{address}: `replicas` needs WAIT, which this server refuses: {}",
            clean(err.detail().unwrap_or_default())
        )),
        _ => server_error(err, address),
    }
}

/// The server refused: kind `Server`, since trying again does not help against a wrong password.
pub(super) fn server_error(err: &RedisError, address: &Address) -> Error {
    let code = err.code().unwrap_or("ERR");
    match code {
        "WRONGPASS" => login_refused(address),
        "NOAUTH" => server(format!("{address} requires authentication: give the password in the URL")),
        _ => {
            let detail = err.detail().map_or_else(|| "(an error without a text)".to_owned(), clean);
            // A script's error on Redis 6 repeats the code inside: `ERR ... WRONGTYPE Operation ...`.
            let detail = detail.strip_prefix(code).map_or(detail.as_str(), str::trim_start);
            let is_midway = FORBIDDEN_MIDWAY.iter().any(|words| detail.starts_with(words));
            let redirect = if code == "NOPERM" || is_midway { LACKING } else { "" };
            let words = format!("{code} {detail}{redirect}");
            let error = server(format!("{address}: {}", words.trim_start()));
            let error = if is_midway { error.midway() } else { error };
            if is_passing(err) { error.passing() } else { error }
        }
    }
}

/// Whether the error is a state of the server that ends by itself: with a restart, a failover, a slow script, a migration
/// of slots, or more memory.
fn is_passing(err: &RedisError) -> bool {
    match err.code().unwrap_or_default() {
        "LOADING" | "MISCONF" | "OOM" | "BUSY" | "NOREPLICAS" | "READONLY" | "MASTERDOWN" => true,
        "CLUSTERDOWN" | "TRYAGAIN" | "MOVED" | "ASK" => true,
        _ => err.detail().is_some_and(|detail| detail.starts_with(FULL)),
    }
}

/// Whether WAIT was refused because the server is itself a replica.
pub(super) fn is_of_replica(err: &RedisError) -> bool {
    err.detail().is_some_and(|detail| detail.starts_with("WAIT cannot be used with replica"))
}

fn login_refused(address: &Address) -> Error {
    server(format!("{address} refused the login: the user or the password is wrong"))
}

/// The error's own words, without what the server adds about the script: its digest and line mean nothing
/// to a reader. Arguments that a server repeats in "unknown command" may be a password.
fn clean(detail: &str) -> String {
    let text = detail.split(", with args beginning with").next().unwrap_or(detail);
    // The last: "ACL failure in script: User limiter has no permissions ... script: <digest>, on @user_script:3."
    let script = text.rfind(" script: ").filter(|at| text[*at..].contains("@user_script"));
    let text = script.map_or(text, |at| &text[..at]);
    // Redis 6: "Error running script (call to f_<digest>): @user_script:3: user_script:3: the words".
    let call = text.strip_prefix("Error running script (call to ").and_then(|text| text.split_once("): "));
    let mut text = call.map_or(text, |(_, words)| words).trim();
    while let Some(rest) = without_position(text) {
        text = rest;
    }
    text.to_owned()
}

/// `user_script:12: words` becomes `words`.
fn without_position(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('@').unwrap_or(text).strip_prefix("user_script:")?;
    // Redis 6 sets its own apart: "@user_script: 12: the words".
    let (line, words) = rest.trim_start().split_once(": ")?;
    line.bytes().all(|b| b.is_ascii_digit()).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "2067d915024a3e1657c4169c84f809f8ebdb9767";

    #[test]
    fn script_noise_is_removed() {
        let redis7 = format!("Operation against a key script: {DIGEST}, on @user_script:12.");
        assert_eq!(clean(&redis7), "Operation against a key");
        let words = "ACL failure in script: User limiter has no permissions to run the 'set' command";
        assert_eq!(clean(&format!("{words} script: {DIGEST}, on @user_script:12.")), words);
        let redis6 =
            format!("Error running script (call to f_{DIGEST}): @user_script:3: user_script:3: bad state");
        assert_eq!(clean(&redis6), "bad state");
        assert_eq!(clean("user_script:7: bad state"), "bad state");
        assert_eq!(clean("@user_script: 7: bad state"), "bad state");
        assert_eq!(clean("words about a script: mine"), "words about a script: mine");
    }

    #[test]
    fn repeated_arguments_are_removed() {
        let text = clean("unknown command 'AUTH', with args beginning with: 'secret'");
        assert_eq!(text, "unknown command 'AUTH'");
    }
}
