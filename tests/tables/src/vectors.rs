//! Options in the schema of the vectors of mistakes.

use sluicegate::bridge::OPTIONS;

use crate::place::Place;

pub(crate) fn places() -> Vec<Place> {
    let names: String =
        OPTIONS.iter().map(|option| format!("            \"{}\": {{}},\n", option.name)).collect();
    vec![Place::part(
        "tests/vectors/errors/schema.json",
        (
            "          \"description\": \"options of the limiter; all times in microseconds\",\n          \"properties\": {\n",
            "            \"perfix\"",
        ),
        names,
    )]
}
