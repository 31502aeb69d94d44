//! Lua with marks, at which other Lua is put in.

/// A text with fragments in the place of its marks.
pub(crate) fn filled(text: &str, marks: &[(&str, &str)]) -> String {
    marks.iter().fold(text.to_owned(), |text, (mark, fragment)| text.replace(mark, fragment))
}

/// Whether a text has a mark.
pub(crate) const fn has(text: &str, mark: &str) -> bool {
    let (text, mark) = (text.as_bytes(), mark.as_bytes());
    let mut start = 0;
    while start + mark.len() <= text.len() {
        let mut same = 0;
        while same < mark.len() && text[start + same] == mark[same] {
            same += 1;
        }
        if same == mark.len() {
            return true;
        }
        start += 1;
    }
    false
}

/// Whether a text has all of these marks.
pub(crate) const fn has_all(text: &str, marks: &[&str]) -> bool {
    let mut place = 0;
    while place < marks.len() {
        if !has(text, marks[place]) {
            return false;
        }
        place += 1;
    }
    true
}
