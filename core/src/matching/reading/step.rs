//! The steps of reading a path. Each answers what it makes of a text, or nothing where it changes nothing.

use memchr::{memchr, memmem};

/// What precedes the first of these bytes: a fragment is cut off, or what Fastify 4 takes for a query.
#[inline]
pub(super) fn before(end: u8) -> impl Fn(&[u8]) -> Option<Vec<u8>> {
    move |text| Some(text[..memchr(end, text)?].to_vec())
}

/// What precedes the first NUL, as C reads texts.
#[inline]
pub(super) fn before_nul(text: &[u8]) -> Option<Vec<u8>> {
    Some(text[..memmem::find(text, b"%00")?].to_vec())
}

/// A mark is taken for a slash.
#[inline]
pub(super) fn as_slash(mark: u8) -> impl Fn(&[u8]) -> Option<Vec<u8>> {
    move |text| {
        memchr(mark, text)?;
        Some(text.iter().map(|byte| if *byte == mark { b'/' } else { *byte }).collect())
    }
}

/// A path begins with a slash, whether it says so or not.
#[inline]
pub(super) fn rooted(mut text: Vec<u8>) -> Vec<u8> {
    if text.first() != Some(&b'/') {
        text.insert(0, b'/');
    }
    text
}

/// What follows one of these bytes in a segment are parameters (RFC 3986, 3.3), which some servers cut off;
/// nothing changes without the last of these bytes.
#[inline]
pub(super) fn without_parameters(marks: &'static [u8]) -> impl Fn(&[u8]) -> Option<Vec<u8>> {
    move |text| {
        memchr(*marks.last()?, text)?;
        let mut is_kept = true;
        Some(kept(text, |byte| {
            is_kept = byte == b'/' || (is_kept && !marks.contains(&byte));
            is_kept
        }))
    }
}

/// Slashes at the start begin a host, as in a link.
#[inline]
pub(super) fn without_host(text: &[u8]) -> Option<Vec<u8>> {
    let host = text.iter().position(|byte| *byte != b'/').unwrap_or(text.len());
    if host < 2 {
        return None;
    }
    let path = text[host..].iter().position(|byte| *byte == b'/').map_or(&b"/"[..], |at| &text[host + at..]);
    Some(path.to_vec())
}

/// Slashes that follow each other are one.
#[inline]
pub(super) fn merged(text: &[u8]) -> Option<Vec<u8>> {
    memmem::find(text, b"//")?;
    let mut before = 0;
    Some(kept(text, |byte| {
        let is_again = byte == b'/' && before == b'/';
        before = byte;
        !is_again
    }))
}

/// The bytes that are kept; written without a branch, as nothing can be said of what clients send.
#[inline]
fn kept(text: &[u8], mut is_kept: impl FnMut(u8) -> bool) -> Vec<u8> {
    let mut kept = vec![0; text.len()];
    let mut length = 0;
    for byte in text {
        kept[length] = *byte;
        length += usize::from(is_kept(*byte));
    }
    kept.truncate(length);
    kept
}

/// Segments of one and two dots are resolved, if the last of these dots is among them; the path does not climb above
/// its root.
#[inline]
pub(super) fn resolved(dots: &'static [u8]) -> impl Fn(&[u8]) -> Option<Vec<u8>> {
    move |text| {
        let last = *dots.last()?;
        memchr(last, text)?;
        let is_dot = |byte: u8| byte == b'.' || byte == last;
        let mut kept = vec![b'/'; text.len() + 1];
        // From the end, so that nothing has to be taken back: so many segments are still to be left out.
        let (mut left_out, mut changed) = (0_usize, false);
        let (mut start, mut end) = (kept.len(), text.len());
        while end > 0 {
            let slash = text[..end].iter().rposition(|byte| *byte == b'/').unwrap_or(0);
            let climbs = match text[slash + 1..end] {
                [one] if is_dot(one) => Some(0),
                [one, two] if is_dot(one) && is_dot(two) => Some(1),
                _ => None,
            };
            if let Some(climbs) = climbs {
                // Dots at the end leave a slash there.
                start -= usize::from(end == text.len());
                left_out += climbs;
                changed = true;
            } else if left_out > 0 {
                left_out -= 1;
            } else {
                start -= end - slash;
                kept[start..start + end - slash].copy_from_slice(&text[slash..end]);
            }
            end = slash;
        }
        changed.then(|| kept.split_off(start))
    }
}
