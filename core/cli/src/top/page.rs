//! The text that a process serves: <https://prometheus.io/docs/instrumenting/exposition_formats/>, version 0.0.4.

/// What the names of our metrics begin with.
const PREFIX: &str = "sluicegate_";

/// One line of the text.
#[derive(Debug, PartialEq)]
pub(super) struct Sample<'a> {
    /// Without the prefix.
    pub(super) name: &'a str,
    labels: Vec<(&'a str, String)>,
    pub(super) value: f64,
}

impl Sample<'_> {
    /// The text of a label; empty without one, as Prometheus has it.
    pub(super) fn label(&self, name: &str) -> &str {
        self.labels.iter().find(|(label, _)| *label == name).map_or("", |(_, text)| text)
    }
}

/// The samples of our metrics. Lines of others, and those that are not understood, are left out.
pub(super) fn samples(text: &str) -> impl Iterator<Item = Sample<'_>> {
    text.lines().filter_map(sample)
}

fn sample(line: &str) -> Option<Sample<'_>> {
    let line = line.strip_prefix(PREFIX)?;
    let (name, rest) = line.split_at(line.find(|c: char| !is_of_name(c))?);
    let (labels, rest) = match rest.trim_start().strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Vec::new(), rest),
    };
    // Behind the value there may be a time.
    let value = rest.split_ascii_whitespace().next()?.parse().ok()?;
    Some(Sample { name, labels, value })
}

fn is_of_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// The labels, and what follows their closing brace.
fn labels(mut rest: &str) -> Option<(Vec<(&str, String)>, &str)> {
    let mut labels = Vec::new();
    loop {
        rest = rest.trim_start();
        if let Some(behind) = rest.strip_prefix('}') {
            return Some((labels, behind));
        }
        let (name, behind) = rest.split_at(rest.find(|c: char| !is_of_name(c))?);
        let behind = behind.trim_start().strip_prefix('=')?.trim_start().strip_prefix('"')?;
        let (text, behind) = quoted(behind)?;
        labels.push((name, text));
        let behind = behind.trim_start();
        rest = behind.strip_prefix(',').or_else(|| behind.starts_with('}').then_some(behind))?;
    }
}

/// The text up to the closing quote, and what follows that.
fn quoted(rest: &str) -> Option<(String, &str)> {
    let mut text = String::new();
    let mut characters = rest.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((text, &rest[at + 1..])),
            '\\' => match characters.next()?.1 {
                'n' => text.push('\n'),
                other => text.push(other),
            },
            other => text.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_labels_and_values_are_read() {
        let text = "# HELP sluicegate_a b\nsluicegate_a 3\r\nsluicegate_b{x=\"1\",y=\"}, \\\"\\\\\\n\"} 4.5 1700000000\n\
                    sluicegate_c { x = \"1\" , } +Inf\nother{x=\"1\"} 9\n";
        let samples: Vec<_> = samples(text).collect();
        let read: Vec<_> = samples.iter().map(|sample| (sample.name, sample.value)).collect();
        assert_eq!(read, [("a", 3.0), ("b", 4.5), ("c", f64::INFINITY)]);
        assert_eq!((samples[1].label("x"), samples[1].label("y")), ("1", "}, \"\\\n"));
        assert_eq!((samples[2].label("x"), samples[2].label("z")), ("1", ""));
    }

    #[test]
    fn what_is_not_understood_is_left_out() {
        for line in [
            "",
            "sluicegate_",
            "sluicegate_a",
            "sluicegate_a ",
            "sluicegate_a b",
            "sluicegate_a{",
            "sluicegate_a{x",
            "sluicegate_a{x=",
            "sluicegate_a{x=\"",
            "sluicegate_a{x=\"\\",
            "sluicegate_a{x=\"1\"",
            "sluicegate_a{x=\"1\"}",
            "sluicegate_a{x=\"1\" y=\"2\"} 1",
            "sluicegate_a{=} 1",
            "sluicegate_a{\u{1b}=\"1\"} 1",
            "sluicegate_a{,} 1",
        ] {
            assert_eq!(sample(line), None, "{line}");
        }
    }
}
