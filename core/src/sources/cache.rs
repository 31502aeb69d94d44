//! The copy of the last good rules, for a start while their source is away. It is itself a file of rules.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
#[cfg(unix)]
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use super::reading::read_trusted;
use crate::error::{Error, ErrorKind, Result};
use crate::rules::{Checked, Rules};
use crate::text::words::one_line;

/// Puts a text in place of the copy, whole or not at all: other processes may read it, or write it too.
pub(super) fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(format!(".{:016x}.tmp", any_number()));
    let mut file = private(&unfinished)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    let done = written.and_then(|()| fs::rename(&unfinished, path));
    if done.is_err() {
        // It may be out of reach too.
        let _ = fs::remove_file(&unfinished);
    }
    done
}

/// A new file that nobody else may read or write: who can change it chooses the limits.
fn private(path: &OsStr) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    options.mode(0o600);
    options.open(path)
}

/// One that nobody can foresee, to lay a link there, and that no other process takes: in containers many have
/// the same id.
fn any_number() -> u64 {
    RandomState::new().hash_one(())
}

/// The rules of the copy, if nobody else can have written it.
pub(super) fn read(path: &Path) -> Result<Rules> {
    let rules = not_a_link(path)
        .and_then(|()| read_trusted(path, &unlinked(), is_trusted))
        .and_then(|text| Rules::read(&text));
    rules.map_err(|fault| Error::new(ErrorKind::InvalidRule, format!("{}: {fault}", one_line(path))))
}

/// Says what a link is: the system's own words for not following one speak of too many.
fn not_a_link(path: &Path) -> Checked<()> {
    match fs::symlink_metadata(path) {
        Ok(about) if about.is_symlink() => Err("it is a symbolic link (delete it)".to_owned()),
        _ => Ok(()),
    }
}

/// How it is opened: a link that was laid meanwhile is not followed either.
fn unlinked() -> OpenOptions {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    options.custom_flags(libc::O_NOFOLLOW);
    options
}

/// Why a file is not to be trusted: it is not the user's own or root's, or others may write it.
#[cfg(unix)]
#[allow(unsafe_code)]
fn is_trusted(about: &Metadata) -> Checked<()> {
    // SAFETY: it only answers.
    let user = unsafe { libc::geteuid() };
    let owner = about.uid();
    if ![user, 0].contains(&owner) {
        return Err(format!(
            "it belongs to user {owner}, not to {user} or root (change its owner, or delete it)"
        ));
    }
    let writers = match about.mode() {
        mode if mode & 0o002 != 0 => "everybody",
        mode if mode & 0o020 != 0 => "its group",
        _ => return Ok(()),
    };
    Err(format!("{writers} may write it (chmod 600, or delete it)"))
}

#[cfg(not(unix))]
fn is_trusted(_: &Metadata) -> Checked<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    #[test]
    fn a_link_that_was_laid_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("rules.json"), folder.path().join("other"));
        fs::write(&other, "kept").unwrap();
        // Names that could be foreseen: those of this process, by number.
        for number in 0..1_000 {
            let name = format!("rules.json.{}-{number}.tmp", std::process::id());
            symlink(&other, folder.path().join(name)).unwrap();
        }
        write(&path, "copy").unwrap();
        assert_eq!(fs::read_to_string(&other).unwrap(), "kept");
        assert!(fs::symlink_metadata(&path).unwrap().is_file());
        assert_eq!(fs::read_to_string(&path).unwrap(), "copy");
    }

    #[test]
    fn a_copy_is_for_the_user_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rules.json");
        write(&path, "[]").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert!(read(&path).unwrap().is_empty());

        for (mode, writers) in [(0o606, "everybody"), (0o660, "its group"), (0o620, "its group")] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let error = read(&path).unwrap_err();
            let why = format!("{writers} may write it (chmod 600, or delete it)");
            assert!(error.message().ends_with(&why), "{error}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(read(&path).is_ok());
    }

    #[test]
    fn a_link_is_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("rules.json"), folder.path().join("other"));
        write(&other, "[]").unwrap();
        symlink(&other, &path).unwrap();
        let error = read(&path).unwrap_err();
        assert!(error.message().ends_with("it is a symbolic link (delete it)"), "{error}");
        // Also one that is laid after the look at it.
        assert!(unlinked().open(&path).is_err() && unlinked().open(&other).is_ok());
    }

    /// Only root can give a file away.
    #[test]
    fn a_copy_of_another_user_is_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rules.json");
        write(&path, "[]").unwrap();
        if chown(&path, Some(4_000_000), None).is_ok() {
            let error = read(&path).unwrap_err();
            assert!(error.message().contains("it belongs to user 4000000, not to "), "{error}");
        } else {
            let root = fs::metadata("/etc/passwd").unwrap();
            assert_eq!(is_trusted(&root), Ok(()));
        }
    }

    /// A pipe would be waited for; a device that ends is as good for a test.
    #[test]
    fn only_a_regular_file_is_read() {
        let error = read(Path::new("/dev/null")).unwrap_err();
        assert!(error.message().starts_with("/dev/null: it is not a regular file"), "{error}");
    }
}
