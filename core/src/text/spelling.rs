//! The one spelling of a path's text: what patterns, keys and readings are compared in.
//!
//! Escapes are decoded once. What would be misread if it stood there as it is stays, or becomes, an escape in
//! capitals: `%` itself, `?`, `#`, control characters, and a slash that separates nothing. Bytes that are not UTF-8
//! are U+FFFD, as most frameworks hand them to their handlers.

const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

/// The text of a pattern. An escaped slash in it separates nothing.
pub(crate) fn canonical(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    for (byte, escaped) in DecodedBytes(text.as_bytes()) {
        match byte {
            b'/' if escaped => push_escape(&mut bytes, byte),
            _ => push(&mut bytes, byte),
        }
    }
    match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }
}

/// Adds a byte as it is, or as an escape where it has to be one.
pub(crate) fn push(bytes: &mut Vec<u8>, byte: u8) {
    if matches!(byte, b'%' | b'?' | b'#') || byte.is_ascii_control() {
        push_escape(bytes, byte);
    } else {
        bytes.push(byte);
    }
}

pub(crate) fn push_escape(bytes: &mut Vec<u8>, byte: u8) {
    bytes.push(b'%');
    push_digits(bytes, byte);
}

pub(crate) fn push_digits(bytes: &mut Vec<u8>, byte: u8) {
    bytes.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
}

/// The bytes of a text with its escapes decoded once, each with whether it was escaped. A `%` that begins no
/// escape is itself.
pub(crate) struct DecodedBytes<'a>(pub(crate) &'a [u8]);

impl Iterator for DecodedBytes<'_> {
    type Item = (u8, bool);

    fn next(&mut self) -> Option<(u8, bool)> {
        let (&first, rest) = self.0.split_first()?;
        if let [b'%', high, low, rest @ ..] = self.0
            && let (Some(high), Some(low)) = (digit(*high), digit(*low))
        {
            self.0 = rest;
            return Some((high << 4 | low, true));
        }
        self.0 = rest;
        Some((first, false))
    }
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn escapes_are_decoded_once() {
        assert_eq!(canonical("/%6Frders/%37/%2a"), "/orders/7/*");
        assert_eq!(canonical("/a%252e"), "/a%252e");
        assert_eq!(canonical("/100%/%zz/%4"), "/100%25/%25zz/%254");
    }

    #[test]
    fn what_would_be_misread_stays_escaped() {
        assert_eq!(canonical("/%3f%23%25%00%1F%7f%2f"), "/%3F%23%25%00%1F%7F%2F");
        assert_eq!(canonical("/\0\n"), "/%00%0A");
        assert_eq!(canonical("/%C3%A9/%ff%C0%AE"), "/é/\u{FFFD}\u{FFFD}\u{FFFD}");
    }
}
