//! The copy of the last good rules, for a start while their source is away. It is itself a file of rules.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Result;
use crate::rules::Rules;

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
    Rules::from_file(path)
}
