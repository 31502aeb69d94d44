//! The copy of the last good rules, for a start while their source is away. It is itself a file of rules.

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::Path;

use super::file;
use crate::error::{Error, ErrorKind, Result};
use crate::rules::{Rules, one_line};

/// Puts a text in place of the copy, whole or not at all: other processes may read it, or write it too.
pub(super) fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(format!(".{:016x}.tmp", any_number()));
    let mut file = File::create_new(&unfinished)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    let done = written.and_then(|()| fs::rename(&unfinished, path));
    if done.is_err() {
        // It may be out of reach too.
        let _ = fs::remove_file(&unfinished);
    }
    done
}

/// One that nobody can foresee, to lay a link there, and that no other process takes: in containers many have
/// the same id.
fn any_number() -> u64 {
    RandomState::new().hash_one(())
}

/// The rules of the copy.
pub(super) fn read(path: &Path) -> Result<Rules> {
    let rules = file::read(path).and_then(|text| Rules::read(&text));
    rules.map_err(|fault| Error::new(ErrorKind::InvalidRule, format!("{}: {fault}", one_line(path))))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

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

    /// A pipe would be waited for; a device that ends is as good for a test.
    #[test]
    fn only_a_regular_file_is_read() {
        let error = read(Path::new("/dev/null")).unwrap_err();
        assert!(error.message().starts_with("/dev/null: it is no regular file"), "{error}");
    }
}
