//! A set of texts that grows by one step of reading after the other.

/// More than this of one path is not tried; together they bound the work for a path.
const MAX_TEXTS: usize = 128;
const MAX_BYTES: usize = 32_768;

/// A path can be read in more ways than are worth trying: no honest client sends one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::matching) struct TooMany;

/// Different texts, the likeliest first.
#[derive(Debug)]
pub(super) struct Set(Vec<Vec<u8>>);

impl Set {
    #[inline]
    pub(super) fn new(texts: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let mut set = Self(Vec::new());
        texts.into_iter().for_each(|text| set.insert(text));
        set
    }

    /// Takes a step that most servers take, or not.
    #[inline]
    pub(super) fn first(&mut self, mut step: impl FnMut(&[u8]) -> Option<Vec<u8>>) -> Result<(), TooMany> {
        for text in std::mem::take(&mut self.0) {
            step(&text).into_iter().chain([text]).for_each(|text| self.insert(text));
        }
        self.bounded()
    }

    /// The same; of what the step makes, most servers leave what it is, and few make what follows from it.
    #[inline]
    pub(super) fn first_then(
        &mut self,
        step: impl Fn(&[u8]) -> Option<Vec<u8>>,
        then: impl Fn(&[u8]) -> Option<Vec<u8>>,
    ) -> Result<(), TooMany> {
        let mut followed = Vec::new();
        self.first(|text| {
            let changed = step(text)?;
            followed.extend(then(&changed));
            Some(changed)
        })?;
        followed.into_iter().for_each(|text| self.insert(text));
        self.bounded()
    }

    /// Takes a step that few servers take, or not.
    #[inline]
    pub(super) fn last(&mut self, step: impl Fn(&[u8]) -> Option<Vec<u8>>) -> Result<(), TooMany> {
        let changed: Vec<_> = self.0.iter().filter_map(|text| step(text)).collect();
        changed.into_iter().for_each(|text| self.insert(text));
        self.bounded()
    }

    #[inline]
    fn insert(&mut self, text: Vec<u8>) {
        if !self.0.contains(&text) {
            self.0.push(text);
        }
    }

    #[inline]
    fn bounded(&self) -> Result<(), TooMany> {
        let bytes: usize = self.0.iter().map(Vec::len).sum();
        if self.0.len() > MAX_TEXTS || bytes > MAX_BYTES { Err(TooMany) } else { Ok(()) }
    }
}

impl IntoIterator for Set {
    type Item = Vec<u8>;
    type IntoIter = std::vec::IntoIter<Vec<u8>>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
