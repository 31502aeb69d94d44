//! Why a rule does not apply to a request.

/// So many methods or networks are named in a reason.
pub(super) const NAMED: usize = 5;

/// The first condition that does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mismatch {
    NoMatch,
    Path,
    Method,
    Authentication,
    /// The place among the required headers.
    Header(usize),
    Subnet,
    /// The place among the objects of `unless`.
    Unless(usize),
    /// The place among the parts of a key.
    Identifier(usize),
    ResourceIdentifier,
    /// The argument that is read as more keys than are counted: such a request is refused.
    TooManyKeys(&'static str),
}
