//! Where something is written: a whole file, or what stands between two texts of one.

use std::fs;
use std::path::PathBuf;

/// A file with what it has to hold.
#[derive(Clone)]
pub(crate) struct Place {
    /// From the root of the repository.
    pub(crate) path: &'static str,
    /// What stands before and after the part that is written; `None`: the file is written whole.
    between: Option<(&'static str, &'static str)>,
    text: String,
}

impl Place {
    pub(crate) fn whole(path: &'static str, text: String) -> Self {
        Self { path, between: None, text }
    }

    /// The part between two texts, each of which the file holds: at every place where they stand.
    pub(crate) fn part(path: &'static str, between: (&'static str, &'static str), text: String) -> Self {
        Self { path, between: Some(between), text }
    }

    pub(crate) fn is_current(&self) -> bool {
        fs::read_to_string(self.file()).is_ok_and(|found| self.contents(&found).as_ref() == Some(&found))
    }

    pub(crate) fn write(&self) {
        let found = fs::read_to_string(self.file()).unwrap_or_default();
        let Some(contents) = self.contents(&found) else {
            println!("{}: the place of what is made from the tables is not found", self.path);
            return;
        };
        if let Err(error) = fs::write(self.file(), contents) {
            println!("{}: {error}", self.path);
        }
    }

    fn file(&self) -> PathBuf {
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(self.path)
    }

    /// The file as it has to be; `None`: it lacks one of the texts.
    fn contents(&self, found: &str) -> Option<String> {
        let Some((before, after)) = self.between else { return Some(self.text.clone()) };
        let mut parts = found.split(before);
        let mut contents = parts.next()?.to_owned();
        let mut places = 0;
        for part in parts {
            let end = part.find(after)?;
            contents += &[before, &self.text, &part[end..]].concat();
            places += 1;
        }
        (places > 0).then_some(contents)
    }
}
