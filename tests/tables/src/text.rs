//! Names and documentation in the manner of each language.

use sluicegate::bridge::{OPTIONS, OptionKind, OptionSpec};

/// How a language names an option.
pub(crate) type Naming = fn(&OptionSpec) -> String;

/// What an option does, with its default; options that it mentions have the names of the language.
pub(crate) fn about(option: &OptionSpec, name: Naming) -> String {
    let about = format!(
        "{} Default: {}.",
        option.about.split_whitespace().collect::<Vec<_>>().join(" "),
        option.default
    );
    OPTIONS
        .iter()
        .fold(about, |text, other| text.replace(&format!("`{}`", other.name), &format!("`{}`", name(other))))
}

/// Breaks text into lines of at most `width` characters, each behind the same beginning.
pub(crate) fn wrapped(text: &str, first: &str, further: &str, width: usize) -> String {
    let (mut lines, mut line) = (String::new(), first.to_owned());
    let mut is_empty = true;
    for word in text.split(' ') {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > width {
            lines += &[line.trim_end(), "\n"].concat();
            (line, is_empty) = (further.to_owned(), true);
        }
        if !is_empty {
            line.push(' ');
        }
        line += word;
        is_empty = false;
    }
    lines + line.trim_end() + "\n"
}

/// `response_timeout` as `responseTimeout`.
pub(crate) fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (initial, rest) = word.split_at(1);
        name + &initial.to_uppercase() + rest
    })
}

pub(crate) fn is_time(option: &OptionSpec) -> bool {
    matches!(option.kind, OptionKind::Time(_))
}
