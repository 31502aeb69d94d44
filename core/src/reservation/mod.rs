//! Usage that is known late: reserved first, charged when it is known.
//!
//! What is held counts in full until it is ended by a commit, a release or the end of its lease. Here is what callers
//! see of it; what it does to states stands in `plan/books.rs`.

mod made;
mod name;
mod ticket;

pub(crate) use made::Granted;
pub use made::{Reservation, ReservationRef, Usage};
pub(crate) use name::fresh;
pub(crate) use ticket::{Ticket, TicketItem, is_surely_short};
