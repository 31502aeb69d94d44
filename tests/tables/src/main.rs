//! Writes every file, and every part of a file, that is made from the tables of core: `cargo run -p sluicegate-tables`.
//! With `--check` it writes nothing, and fails if one of them is not current.

mod c;
mod markdown;
mod node;
mod place;
mod python;
mod text;
mod vectors;

use std::process::ExitCode;

use place::Place;

fn main() -> ExitCode {
    let check = std::env::args().any(|argument| argument == "--check");
    let stale: Vec<_> = places().into_iter().filter(|place| !place.is_current()).collect();
    for place in &stale {
        println!("{} {}", if check { "stale:" } else { "wrote" }, place.path);
        if !check {
            place.write();
        }
    }
    if check && !stale.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn places() -> Vec<Place> {
    [c::places(), node::places(), python::places(), markdown::places(), vectors::places()].concat()
}

#[cfg(test)]
mod tests {
    use super::places;

    #[test]
    fn what_is_made_from_the_tables_is_current() {
        for place in places() {
            assert!(place.is_current(), "{}: not current; cargo run -p sluicegate-tables", place.path);
        }
    }
}
