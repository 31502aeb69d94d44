//! The folder into which a run is written.

use std::path::{Path, PathBuf};
use std::{fs, io};

use sluicegate_lab::Report;
use sluicegate_lab::plot::{Picture, page};

#[cfg(feature = "png")]
use super::png;
use crate::outcome::CommandError;
#[cfg(feature = "png")]
use crate::stderr::warn;

const PAGE: &str = "index.html";
/// Files that every run writes besides its pictures.
const FILES: [&str; 3] = [PAGE, "lab.json", "bins.csv"];
/// Files that some runs write: of an earlier run, they would be taken for those of the run that has none.
const DECISIONS: [&str; 2] = ["decisions.csv", "decisions.jsonl"];

pub(super) struct OutputFolder(PathBuf);

impl OutputFolder {
    /// Makes the folder. One that holds what no run wrote is refused, unless by force.
    pub(super) fn open(path: &Path, force: bool) -> Result<Self, CommandError> {
        let folder = Self(path.to_owned());
        fs::create_dir_all(path).map_err(|error| cannot_write(path, &error))?;
        if let Some(other) = folder.other_file()?.filter(|_| !force) {
            let (path, other) = (path.display(), other.escape_debug().to_string());
            let reason =
                format!("the folder holds other files, such as {other} (choose another, or pass --force)");
            return Err(CommandError::Other(format!("cannot write into {path}: {reason}")));
        }
        DECISIONS.iter().for_each(|name| drop(fs::remove_file(folder.file(name))));
        Ok(folder)
    }

    fn other_file(&self) -> Result<Option<String>, CommandError> {
        let known = |name: &str| {
            FILES.contains(&name) || DECISIONS.contains(&name) || pictures().any(|picture| picture == name)
        };
        for entry in fs::read_dir(&self.0).map_err(|error| cannot_write(&self.0, &error))? {
            let entry = entry.map_err(|error| cannot_write(&self.0, &error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if !known(&name) {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(super) fn page(&self) -> PathBuf {
        self.file(PAGE)
    }

    pub(super) fn write(&self, report: &Report) -> Result<(), CommandError> {
        // Pictures of an earlier run that this one does not have would be taken for its own.
        pictures().for_each(|name| drop(fs::remove_file(self.file(&name))));
        self.put(PAGE, page(report).as_bytes())?;
        self.put("lab.json", report.json().as_bytes())?;
        self.put("bins.csv", bins(report).as_bytes())?;
        let drawn: Vec<_> = Picture::ALL.into_iter().filter(|picture| picture.applies(report)).collect();
        for picture in &drawn {
            self.put(&format!("{}.svg", picture.name()), picture.svg(report).as_bytes())?;
        }
        self.write_png(report, &drawn)
    }

    #[cfg(feature = "png")]
    fn write_png(&self, report: &Report, drawn: &[Picture]) -> Result<(), CommandError> {
        let fonts = png::Fonts::load();
        if fonts.is_empty() {
            warn(
                "this machine has no fonts: the PNG files are without text (install one, such as fonts-dejavu-core)",
            );
        }
        for picture in drawn {
            self.put(&format!("{}.png", picture.name()), &fonts.png(&picture.svg(report))?)?;
        }
        Ok(())
    }

    #[cfg(not(feature = "png"))]
    fn write_png(&self, _: &Report, _: &[Picture]) -> Result<(), CommandError> {
        Ok(())
    }

    fn put(&self, name: &str, content: &[u8]) -> Result<(), CommandError> {
        let path = self.file(name);
        fs::write(&path, content).map_err(|error| cannot_write(&path, &error))
    }
}

fn pictures() -> impl Iterator<Item = String> {
    let names = |picture: Picture| ["svg", "png"].map(|ending| format!("{}.{ending}", picture.name()));
    Picture::ALL.into_iter().flat_map(names)
}

pub(super) fn cannot_write(path: &Path, error: &io::Error) -> CommandError {
    CommandError::Other(format!("cannot write {}: {error}", path.display()))
}

fn bins(report: &Report) -> String {
    let mut text = "time_us,rule,admitted,denied,cost,fullest\n".to_owned();
    for strategy in &report.strategies {
        for (bin, number) in strategy.bins.iter().zip(0..) {
            let at = report.start_us + number * report.bin_us;
            let rule = quoted(&strategy.name);
            let line = format!("{at},{rule},{},{},{},{}\n", bin.admitted, bin.denied, bin.cost, bin.fullest);
            text.push_str(&line);
        }
    }
    text
}

/// A field of CSV.
pub(super) fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}
