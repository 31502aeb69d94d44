//! Options as fields of an object of JavaScript.

use sluicegate::bridge::{OPTIONS, OptionKind, OptionSpec};

use crate::place::Place;
use crate::text::{about, camel, is_time, wrapped};

pub(crate) fn places() -> Vec<Place> {
    vec![Place::whole("bindings-node/lib/table.js", table())]
}

fn table() -> String {
    let mut text = "'use strict';\n\n// The options of `connect`. Made from the table of core: cargo run -p sluicegate-tables.\n\n\
        /** @import { CredentialsProvider, ManualClock, Rule } from './index.js' */\n\n\
        /**\n * Options of a limiter.\n *\n * @typedef {object} ConnectOptions\n"
        .to_owned();
    text += &property(
        "string | readonly Rule[] | { readonly rules: readonly Rule[] }",
        "rules",
        "The rules to decide by: an array of rules, JSON text (what begins with a bracket, a brace or a comment), or a source \
         that is followed while the limiter runs: the path of a file, or `zookeeper://h1:p1,h2:p2/path`.",
    );
    for option in OPTIONS {
        let kind = match option.kind {
            OptionKind::Text | OptionKind::OptionalText | OptionKind::Path => "string",
            OptionKind::Clock => "ManualClock",
            OptionKind::Credentials => "CredentialsProvider",
            OptionKind::Flag => "boolean",
            OptionKind::Texts => "Readonly<Record<string, string>>",
            OptionKind::Numbers => "Readonly<Record<string, number>>",
            OptionKind::Time(_)
            | OptionKind::Part(_)
            | OptionKind::Count(..)
            | OptionKind::OptionalCount(_) => "number",
        };
        text +=
            &property(&format!("{kind} | undefined"), &format!("[{}]", name(option)), &about(option, name));
    }
    text += " */\n\n/** Of every option its name in core and the kind of its value, by its name here. */\nconst OPTIONS = {\n";
    for option in OPTIONS {
        let kind = match option.kind {
            OptionKind::Text | OptionKind::OptionalText | OptionKind::Path => "text",
            OptionKind::Clock => "clock",
            OptionKind::Credentials => "credentials",
            OptionKind::Flag => "flag",
            OptionKind::Texts | OptionKind::Numbers => "object",
            OptionKind::Time(_)
            | OptionKind::Part(_)
            | OptionKind::Count(..)
            | OptionKind::OptionalCount(_) => "number",
        };
        text += &format!("  {}: ['{}', '{kind}'],\n", name(option), option.name);
    }
    text + "};\n\nmodule.exports = { OPTIONS };\n"
}

fn name(option: &OptionSpec) -> String {
    camel(option.name) + if is_time(option) { "Ms" } else { "" }
}

fn property(kind: &str, name: &str, about: &str) -> String {
    wrapped(&format!("@property {{{kind}}} {name} {about}"), " * ", " *   ", 120)
}
