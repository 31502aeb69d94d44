//! Options as keyword arguments of Python.

use sluicegate::bridge::{OPTIONS, OptionKind, OptionSpec};

use crate::place::Place;
use crate::text::wrapped;

pub(crate) fn places() -> Vec<Place> {
    let listed = |of: fn(&OptionSpec) -> String, indent: &str| -> String {
        OPTIONS.iter().map(|option| format!("{indent}{},\n", of(option))).collect()
    };
    let signature =
        OPTIONS.iter().map(|option| format!("{}={}", option.name, default(option))).collect::<Vec<_>>();
    let signature = wrapped(&format!("{})\"", signature.join(", ")), "            ", "            ", 118)
        .replace('\n', " \\\n");
    let signature = signature.trim_end_matches(" \\\n").to_owned() + "\n    ";
    let asyncio = "bindings-python/python/sluicegate/_asynchronous.py";
    let mut places = vec![
        Place::part(
            asyncio,
            ("        rules: _Rules,\n", "    ) -> Connecting"),
            listed(parameter, "        "),
        ),
        Place::part(
            asyncio,
            ("            rules=rules,\n", "        )\n"),
            listed(|option| format!("{0}={0}", option.name), "            "),
        ),
        Place::part(
            "bindings-python/python/sluicegate/_native.pyi",
            ("        rules: _Rules,\n", "    ) -> "),
            listed(parameter, "        "),
        ),
    ];
    for path in ["bindings-python/src/options.rs", "bindings-python/src/blocking.rs"] {
        places.push(Place::part(path, ("\"(url, *, rules, \\\n", ")]"), signature.clone()));
    }
    places
}

fn parameter(option: &OptionSpec) -> String {
    let kind = match option.kind {
        OptionKind::Text => "str",
        OptionKind::OptionalText => "str | None",
        OptionKind::Path => "_Path | None",
        OptionKind::Credentials => "_Credentials | None",
        OptionKind::Clock => "ManualClock | None",
        OptionKind::Flag => "bool",
        OptionKind::Texts => "Mapping[str, str] | None",
        OptionKind::Numbers => "Mapping[str, float] | None",
        OptionKind::Time(_) | OptionKind::Part(_) => "float",
        OptionKind::Count(..) => "int",
        OptionKind::OptionalCount(_) => "int | None",
    };
    let default = default(option).replace('\'', "\"");
    format!("{}: {kind} = {default}", option.name)
}

fn default(option: &OptionSpec) -> String {
    match option.kind {
        OptionKind::Text => option.default.replace('`', "'"),
        OptionKind::Time(default) => format!("{:?}", default.as_secs_f64()),
        OptionKind::Flag => "False".to_owned(),
        OptionKind::Part(default) => format!("{default:?}"),
        OptionKind::Count(_, default) => default.to_string(),
        OptionKind::OptionalText
        | OptionKind::Path
        | OptionKind::Clock
        | OptionKind::Credentials
        | OptionKind::OptionalCount(_)
        | OptionKind::Texts
        | OptionKind::Numbers => "None".to_owned(),
    }
}
