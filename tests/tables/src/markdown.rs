//! Options as a table of the documentation.

use sluicegate::bridge::OPTIONS;

use crate::place::Place;

pub(crate) fn places() -> Vec<Place> {
    let rows = OPTIONS.iter().map(|option| {
        let about: Vec<_> = option.about.split_whitespace().collect();
        format!("| `{}` | {} | {} |\n", option.name, about.join(" ").replace('|', "\\|"), option.default)
    });
    vec![Place::part(
        "docs/calls.md",
        ("<!-- From the table of core: cargo run -p sluicegate-tables. -->\n", "\n<!-- The end of that. -->"),
        format!("\n| option | meaning | default |\n|---|---|---|\n{}", rows.collect::<String>()),
    )]
}
