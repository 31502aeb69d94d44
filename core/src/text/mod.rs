//! Text from outside: decoded, spelt in one way, quoted in messages.

pub(crate) mod percent;
pub(crate) mod printable;
pub(crate) mod spelling;
pub(crate) mod words;
