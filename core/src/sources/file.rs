//! Rules in a file that may change.

use std::path::PathBuf;
use std::time::Duration;

use super::reading::read;
use super::source::{Following, RuleSource};
use super::updates::Updates;
use crate::text::words::one_line;

/// Followers are to learn of a change within a second.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// A file of rules, looked at five times a second.
///
/// It is read rather than watched: that finds a change by whatever means it was made (in place, by replacing
/// the file or a symbolic link on the way to it, on a file system of another machine, however often within one
/// tick of the clock), and a file of rules is small.
#[derive(Debug, Clone)]
pub struct FileSource {
    path: PathBuf,
}

impl FileSource {
    /// The file at a path. It has to exist when the limiter is made; later it may be absent for a while.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }
}

impl RuleSource for FileSource {
    fn name(&self) -> String {
        one_line(&self.path)
    }

    fn follow<'a>(&'a self, updates: &'a Updates) -> Following<'a> {
        Box::pin(async move {
            let mut last = None;
            loop {
                let text = read(&self.path);
                if last.as_ref() != Some(&text) {
                    updates.file(text.clone());
                    last = Some(text);
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        })
    }
}
