//! The readings of a path: every text that some server or framework may route by.
//!
//! A client writes a path once, and each server, proxy and framework on its way reads it by habits of its own: some
//! resolve dot segments, some cut parameters, some take a backslash for a slash. A reading is one choice for every
//! such habit. All choices are tried, in the order in which servers come to them, and those that make no
//! difference to a path are not distinguished, so that nearly every path has a single reading.

mod end;
mod fold;
mod marked;
mod set;
mod step;
mod target;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use end::Ends;
use fold::Folded;
use set::Set;

pub(super) use fold::fold;
pub(super) use set::TooMany;

/// A text that a path may be read as. It begins with a slash and is spelled as `spelling` says.
#[derive(Debug)]
pub(super) struct Reading<'a> {
    text: Cow<'a, str>,
    ends: Ends,
    /// Where capitals do not count: the text without them.
    folded: Option<Folded>,
}

impl<'a> Reading<'a> {
    #[inline]
    fn new(text: Cow<'a, str>, ignore_case: bool) -> Self {
        Self { ends: Ends::of(&text), folded: ignore_case.then(|| Folded::new(&text)), text }
    }

    /// The whole text, as it is spelled.
    #[inline]
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The whole text without capitals.
    #[inline]
    pub(super) fn folded_text(&self) -> Cow<'_, str> {
        match &self.folded {
            Some(folded) => Cow::Borrowed(folded.text()),
            None => fold(&self.text),
        }
    }

    /// The texts to compare patterns with: what stands at the end may be cut.
    #[inline]
    pub(super) fn compared(&self) -> impl Iterator<Item = &str> {
        self.ends.iter().map(|end| match &self.folded {
            Some(folded) => folded.until(end),
            None => &self.text[..end],
        })
    }

    /// A part of a compared text, as the client spelled it.
    #[inline]
    pub(super) fn spelled<'s>(&'s self, part: &'s str) -> &'s str {
        match &self.folded {
            Some(folded) => folded.original(part, &self.text),
            None => part,
        }
    }
}

/// Adds the readings of a target to those found already; the first is how most servers read it.
#[inline]
pub(super) fn add<'a>(
    target: &'a str,
    ignore_case: bool,
    readings: &mut Vec<Reading<'a>>,
) -> Result<(), TooMany> {
    let path = target::without_query(target);
    let texts = match is_canonical(path) {
        true => vec![Cow::Borrowed(path)],
        false => texts(target)?.into_iter().map(Cow::Owned).collect(),
    };
    for text in texts {
        if !readings.iter().any(|reading| reading.text == text) {
            readings.push(Reading::new(text, ignore_case));
        }
    }
    Ok(())
}

/// The paths of a target with their escapes as they stand, if one of them needs none: some routers compare paths
/// before they decode them.
#[inline]
pub(super) fn undecoded(target: &str) -> Vec<String> {
    if !target::without_query(target).contains('%') {
        return Vec::new();
    }
    let paths = target::paths(target).filter(|path| marked::has_needless_escape(path));
    paths.map(|path| String::from_utf8_lossy(&path).into_owned()).collect()
}

/// Whether a path is certain to have a single reading, as nearly every one has.
#[inline]
fn is_canonical(path: &str) -> bool {
    let mut before = 0;
    let is_plain = |byte: u8| {
        let is_doubtful = before == b'/' && (byte == b'/' || byte == b'.');
        before = byte;
        !is_doubtful && !byte.is_ascii_control() && !matches!(byte, b'%' | b'\\' | b';' | b'#')
    };
    path.starts_with('/') && path.bytes().all(is_plain)
}

#[inline]
fn texts(target: &str) -> Result<Vec<String>, TooMany> {
    let mut raw = Set::new(target::paths(target));
    raw.first(step::before(b'#'))?;
    raw.last(step::before(b';'))?;
    let mut set = Set::new(raw.into_iter().flat_map(|path| marked::decoded(&path)));
    set.last(step::before_nul)?;
    for separator in [marked::ESCAPED_SLASH, marked::BACKSLASH, marked::ESCAPED_BACKSLASH] {
        set.first(step::as_slash(separator))?;
    }
    let mut set = Set::new(set.into_iter().map(step::rooted));
    set.first(step::without_parameters(b";"))?;
    set.first(step::without_parameters(&[b';', marked::ESCAPED_SEMICOLON]))?;
    set.last(step::without_host)?;
    set.first(step::merged)?;
    // Slashes may be merged afterwards, too: `/p//../q//r` is `/p/q//r` by RFC 3986 (5.2.4), of which Envoy, and any two
    // servers in a row, make `/p/q/r`.
    set.first_then(step::resolved(b"."), step::merged)?;
    set.first_then(step::resolved(&[b'.', marked::ESCAPED_DOT]), step::merged)?;
    Ok(Set::new(set.into_iter().map(marked::spelled)).into_iter().map(text_of).collect())
}

/// Every step leaves UTF-8 behind.
#[inline]
fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
