//! `//` and `/* */` comments in JSON.

/// The text with every comment replaced by as many spaces, so that the positions which a parser
/// reports are those of the text as it was written. `Err`: where a `/*` is that has no `*/`.
pub(super) fn blank_comments(text: &str) -> Result<String, usize> {
    let mut blanked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(['"', '/']) {
        let (before, tail) = rest.split_at(start);
        blanked.push_str(before);
        let (length, is_comment) = token(tail).ok_or(blanked.len())?;
        let (token, after) = tail.split_at(length);
        if is_comment {
            blanked.extend(token.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
        } else {
            blanked.push_str(token);
        }
        rest = after;
    }
    blanked.push_str(rest);
    Ok(blanked)
}

/// The length of the string, comment or lone `/` that a text begins with, and whether it is a comment.
fn token(text: &str) -> Option<(usize, bool)> {
    if text.starts_with("//") {
        Some((text.find('\n').unwrap_or(text.len()), true))
    } else if let Some(inner) = text.strip_prefix("/*") {
        Some((inner.find("*/")? + 4, true))
    } else if let Some(inner) = text.strip_prefix('"') {
        Some((1 + string_length(inner), false))
    } else {
        Some((1, false))
    }
}

/// Up to and with the closing quote; a string that is not closed is for the parser to refuse.
fn string_length(inner: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in inner.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    inner.len()
}
