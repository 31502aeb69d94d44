//! Reads files of rules, of which none is waited for or has no end.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

use crate::rules::{Checked, unreadable};

/// Far more than any rules need.
const MAX_BYTES: u64 = 64 << 20;

/// The text of a file of rules, or why it cannot be had.
pub(super) fn read(path: &Path) -> Checked<String> {
    read_at_most(path, MAX_BYTES, File::options().read(true), |_| Ok(()))
}

/// The same, of a file that is opened with these options and `is_trusted`.
pub(super) fn read_trusted(
    path: &Path,
    options: &OpenOptions,
    is_trusted: fn(&Metadata) -> Checked<()>,
) -> Checked<String> {
    read_at_most(path, MAX_BYTES, options, is_trusted)
}

fn read_at_most(
    path: &Path,
    max: u64,
    options: &OpenOptions,
    is_trusted: fn(&Metadata) -> Checked<()>,
) -> Checked<String> {
    let unreadable = |error: io::Error| unreadable(path, &error);
    let unfit = || format!("it is not a regular file of at most {max} bytes");
    let about = fs::metadata(path).map_err(unreadable)?;
    // A pipe would be waited for, and a device might never end.
    if !about.is_file() || about.len() > max {
        return Err(unfit());
    }
    // It may have grown since, and those of the system have more than they say, some without end.
    let file = options.open(path).map_err(unreadable)?;
    // What was opened is judged, not what lay there before.
    is_trusted(&file.metadata().map_err(unreadable)?)?;
    let mut file = file.take(max + 1);
    let mut text = String::new();
    let length = file.read_to_string(&mut text).map_err(unreadable)?;
    if length as u64 > max { Err(unfit()) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn no_more_is_read_than_a_file_may_have() {
        let path = Path::new("/proc/self/status");
        assert_eq!(fs::metadata(path).unwrap().len(), 0, "it says that it is empty");
        assert!(read(path).unwrap().len() > 100);
        assert_eq!(
            read_at_most(path, 100, File::options().read(true), |_| Ok(())),
            Err("it is not a regular file of at most 100 bytes".to_owned())
        );
    }
}
