//! Percent-encoding in URLs.

/// Decodes `%41` to `A`. The error does not repeat the text, which may be a password.
pub(crate) fn decode(text: &str) -> Result<String, &'static str> {
    const WRONG: &str = "`%` must be followed by two hexadecimal digits (UTF-8); write `%` as %25";
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || rest.next().and_then(|b| char::from(b).to_digit(16)).ok_or(WRONG);
            let value = digit()? * 16 + digit()?;
            bytes.extend(u8::try_from(value));
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).map_err(|_| WRONG)
}
