//! Where user and password for ZooKeeper come from when the URL, which may be on a command line that everybody on the
//! machine can see, has none.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use super::url::Login;
use crate::error::{Error, ErrorKind, Result};
use crate::text::words::one_line;

/// Holds `user:password`.
const VARIABLE: &str = "SLUICEGATE_ZOOKEEPER_LOGIN";
/// Holds the path of a file whose first line is `user:password`.
const FILE_VARIABLE: &str = "SLUICEGATE_ZOOKEEPER_LOGIN_FILE";

/// The login that the environment gives, if any.
pub(super) fn from_environment() -> Result<Option<Login>> {
    from_variables(|name| env::var_os(name).filter(|value| !value.is_empty()))
}

fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Result<Option<Login>> {
    match (variable(VARIABLE), variable(FILE_VARIABLE)) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(invalid(format!("{VARIABLE} and {FILE_VARIABLE} exclude each other"))),
        (Some(login), None) => login.to_str().and_then(read).map(Some).ok_or_else(|| not_a_login(VARIABLE)),
        (None, Some(path)) => from_file(Path::new(&path)).map(Some),
    }
}

fn from_file(path: &Path) -> Result<Login> {
    let what = format!("{FILE_VARIABLE}: {}", one_line(path));
    let text =
        fs::read_to_string(path).map_err(|error| invalid(format!("{what}: cannot be read: {error}")))?;
    text.lines().next().and_then(read).ok_or_else(|| not_a_login(&what))
}

fn read(login: &str) -> Option<Login> {
    let (user, password) = login.split_once(':')?;
    (!user.is_empty() && !password.is_empty()).then(|| Login(login.to_owned()))
}

fn not_a_login(what: &str) -> Error {
    invalid(format!("{what}: it has to be user:password"))
}

fn invalid(what: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The login that variables of these values give.
    fn given(login: Option<&str>, file: Option<&Path>) -> Result<Option<String>> {
        let found = from_variables(|name| match name {
            VARIABLE => login.map(OsString::from),
            _ => file.map(OsString::from),
        });
        Ok(found?.map(|login| login.0))
    }

    #[test]
    fn a_login_comes_from_a_variable_or_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("login");
        fs::write(&file, "user:from:file\n").unwrap();
        assert_eq!(given(None, None), Ok(None));
        assert_eq!(given(Some("user:p@ss/word"), None), Ok(Some("user:p@ss/word".to_owned())));
        assert_eq!(given(None, Some(&file)), Ok(Some("user:from:file".to_owned())));
    }

    #[test]
    fn what_is_no_login_is_refused_and_not_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("login");
        fs::write(&file, "secret").unwrap();
        let refusals = [
            given(Some("secret"), None),
            given(Some("user:"), None),
            given(None, Some(&file)),
            given(Some("user:secret"), Some(&file)),
            given(None, Some(&folder.path().join("absent"))),
        ];
        for refused in refusals {
            let error = refused.unwrap_err();
            assert!(error.message().starts_with(VARIABLE) && !error.message().contains("secret"), "{error}");
        }
    }
}
