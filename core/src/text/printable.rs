//! Text that may hold anything, made fit for logs, headers and terminals.

use std::borrow::Cow;

/// Whether a character is obeyed rather than shown: by a terminal (C0, DEL, C1), by what reads a log line by line
/// (also U+0085, U+2028 and U+2029), or by what lays text out, so that it looks like another text (the controls of
/// bidirectional text).
pub(crate) fn is_control(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}')
        || matches!(character, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text with each [control character](is_control) as Rust writes it: `\n`, `\u{85}`.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    let escaped = text.chars().fold(String::with_capacity(text.len() + 16), |mut escaped, character| {
        if is_control(character) {
            escaped.extend(character.escape_default());
        } else {
            escaped.push(character);
        }
        escaped
    });
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_obeyed_is_shown() {
        let text = "a\r\n\u{1b}[31m\u{7f}\u{85}\u{9b}\u{2028}\u{2029}\u{202e}\u{2066}\u{200f}é\u{200d}";
        let shown = r"a\r\n\u{1b}[31m\u{7f}\u{85}\u{9b}\u{2028}\u{2029}\u{202e}\u{2066}\u{200f}é";
        assert_eq!(printable(text), format!("{shown}\u{200d}"));
        assert!(matches!(printable("plain"), Cow::Borrowed("plain")));
    }
}
