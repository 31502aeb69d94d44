//! A file that takes the place of another.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;

/// The text of a file; `None` when there is no such file.
pub(super) fn read(path: &Path) -> io::Result<Option<String>> {
    match read_regular(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        text => text.map(Some),
    }
}

/// A pipe would be waited for, and a device might never end; neither is to be replaced.
fn read_regular(path: &Path) -> io::Result<String> {
    if fs::metadata(path)?.is_file() {
        return fs::read_to_string(path);
    }
    Err(io::Error::other("it is not a regular file"))
}

/// Keeps others who change files of that folder by this program waiting, until it is dropped: between a look
/// at the file and its replacement nobody else is to replace it.
pub(super) fn alone(path: &Path) -> io::Result<File> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = File::open(folder)?;
    folder.lock()?;
    Ok(folder)
}

/// Puts a text in the place of the one that was `read`, whole or not at all, with the permissions and the owner
/// that were. A symbolic link stays one.
pub(super) fn replace(path: &Path, seen: Option<&str>, text: &str) -> io::Result<()> {
    let target = if seen.is_some() { fs::canonicalize(path)? } else { path.to_owned() };
    let unfinished = beside(&target);
    let done = write(&unfinished, &target, seen, text);
    if done.is_err() {
        // There may be nothing to remove.
        let _ = fs::remove_file(&unfinished);
    }
    done
}

fn write(unfinished: &Path, target: &Path, seen: Option<&str>, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(unfinished)?;
    if seen.is_some() {
        // First: nobody is to read what only some may.
        like(&file, target)?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    if read(target)?.as_deref() != seen {
        return Err(io::Error::other("another process changed the file meanwhile; nothing was written"));
    }
    fs::rename(unfinished, target)
}

fn like(file: &File, target: &Path) -> io::Result<()> {
    let wanted = fs::metadata(target)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let own = file.metadata()?;
        if (own.uid(), own.gid()) != (wanted.uid(), wanted.gid()) {
            fchown(file, Some(wanted.uid()), Some(wanted.gid()))?;
        }
    }
    file.set_permissions(wanted.permissions())
}

/// A name of our own in the same folder, as only there a file can be renamed at once.
fn beside(target: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", process::id()));
    target.with_file_name(name)
}
