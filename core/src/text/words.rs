//! Words in messages: quoted, shortened, and the one that was probably meant.

use std::path::Path;

use super::printable::printable;

/// More than this of a value is not repeated in a message.
const SHOWN_CHARS: usize = 64;

/// Longer words are not compared: the comparison takes time in proportion to the product of lengths.
const COMPARED_BYTES: usize = 128;

/// In double quotes, at most 64 characters of it, control characters escaped.
pub(crate) fn quote(text: &str) -> String {
    format!("{:?}", shorten(text))
}

/// At most 64 characters.
pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        None => text.to_owned(),
        Some(_) => text.chars().take(SHOWN_CHARS - 1).chain(['…']).collect(),
    }
}

/// `"a", "b" or "c"`.
pub(crate) fn one_of(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quote(word)).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

/// `"a", "b" and 17 more`.
pub(crate) fn first_of<'a>(words: impl ExactSizeIterator<Item = &'a str>, count: usize) -> String {
    let more = words.len().saturating_sub(count);
    let listed = words.take(count).map(quote).collect::<Vec<_>>().join(", ");
    if more == 0 { listed } else { format!("{listed} and {more} more") }
}

/// A path for a message: whole, without control characters.
pub(crate) fn one_line(path: &Path) -> String {
    printable(&path.display().to_string()).into_owned()
}

/// The word that differs least, if it differs so little that it was probably meant.
pub(crate) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > COMPARED_BYTES {
        return None;
    }
    let word = word.to_lowercase();
    let slips = (word.chars().count() / 3).clamp(1, 3);
    known
        .filter(|other| other.len() <= COMPARED_BYTES && other.len().abs_diff(word.len()) <= 4 * slips)
        .map(|other| (strsim::osa_distance(&word, &other.to_lowercase()), other))
        .filter(|(distance, _)| *distance <= slips)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, other)| other)
}
