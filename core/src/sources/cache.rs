//! The copy of the last good rules, for a start while their source is away. It is itself a file of rules.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use super::file;
use crate::error::{Error, ErrorKind, Result};
use crate::rules::{Rules, one_line};

/// Puts a text in place of the copy, whole or not at all: other processes may read it, or write it too.
pub(super) fn write(path: &Path, text: &str) -> io::Result<()> {
    static WRITES: AtomicU64 = AtomicU64::new(0);
    let number = WRITES.fetch_add(1, Ordering::Relaxed);
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(format!(".{}-{number}.tmp", process::id()));
    let written = File::create(&unfinished).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    let done = written.and_then(|()| fs::rename(&unfinished, path));
    if done.is_err() {
        // There may be nothing to remove.
        let _ = fs::remove_file(&unfinished);
    }
    done
}

/// The rules of the copy.
pub(super) fn read(path: &Path) -> Result<Rules> {
    let rules = file::read(path).and_then(|text| Rules::read(&text));
    rules.map_err(|fault| Error::new(ErrorKind::InvalidRule, format!("{}: {fault}", one_line(path))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pipe would be waited for; a device that ends is as good for a test.
    #[test]
    fn only_a_regular_file_is_read() {
        let error = read(Path::new("/dev/null")).unwrap_err();
        assert!(error.message().starts_with("/dev/null: it is no regular file"), "{error}");
    }
}
