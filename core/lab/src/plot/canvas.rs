//! A picture in the making, as SVG.

use std::fmt::Write;

use super::style;

/// Where a text stands.
#[derive(Debug, Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

/// Collects shapes; coordinates are pixels from the upper left.
#[derive(Debug)]
pub(super) struct Canvas {
    pub(super) width: f64,
    pub(super) height: f64,
    body: String,
}

impl Canvas {
    pub(super) fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new() }
    }

    pub(super) fn text(&mut self, class: &str, x: f64, y: f64, anchor: Anchor, text: &str) {
        let (x, y, anchor, text) = (short(x), short(y), anchor.name(), escaped(text));
        let shape =
            format!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{text}</text>\n");
        self.body.push_str(&shape);
    }

    pub(super) fn path(&mut self, class: &str, d: &str) {
        if !d.is_empty() {
            self.body.push_str(&format!("<path class=\"{class}\" d=\"{d}\"/>\n"));
        }
    }

    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let mut pen = Pen::default();
        pen.to(from.0, from.1);
        pen.to(to.0, to.1);
        self.path(class, &pen.finish());
    }

    pub(super) fn rect(&mut self, class: &str, x: f64, y: f64, width: f64, height: f64) {
        let mut bars = Bars::default();
        bars.add(x, y, width, height);
        self.path(class, &bars.finish());
    }

    pub(super) fn circle(&mut self, class: &str, x: f64, y: f64, radius: f64) {
        let (x, y, r) = (short(x), short(y), short(radius));
        self.body.push_str(&format!("<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{r}\"/>\n"));
    }

    /// The picture as a file of its own, or as a part of a page that has the style.
    pub(super) fn finish(self, title: &str, alone: bool) -> String {
        let (width, height, title) = (short(self.width), short(self.height), escaped(title));
        let size = format!("viewBox=\"0 0 {width} {height}\" class=\"lab\" role=\"img\"");
        let ground = format!("<rect class=\"ground\" width=\"{width}\" height=\"{height}\"/>");
        let body = format!("<title>{title}</title>\n{ground}\n{}</svg>\n", self.body);
        match alone {
            false => format!("<svg {size}>\n{body}"),
            true => {
                let sheet = style::sheet();
                let open = "<svg xmlns=\"http://www.w3.org/2000/svg\"";
                format!(
                    "{open} width=\"{width}\" height=\"{height}\" {size}>\n<style>\n{sheet}</style>\n{body}"
                )
            }
        }
    }
}

/// A line from point to point.
#[derive(Debug, Default)]
pub(super) struct Pen(String);

impl Pen {
    pub(super) fn to(&mut self, x: f64, y: f64) {
        let command = if self.0.is_empty() { 'M' } else { 'L' };
        // Writing to a String does not fail.
        let _ = write!(self.0, "{command}{} {}", short(x), short(y));
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

/// Rectangles in one path.
#[derive(Debug, Default)]
pub(super) struct Bars(String);

impl Bars {
    pub(super) fn add(&mut self, x: f64, y: f64, width: f64, height: f64) {
        let (x, y, width, height) = (short(x), short(y), short(width), short(height));
        let _ = write!(self.0, "M{x} {y}h{width}v{height}h-{width}z");
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

/// A coordinate in as few digits as can be seen.
fn short(number: f64) -> String {
    let text = format!("{number:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// Names are the user's own text.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_leave_its_place() {
        let mut canvas = Canvas::new(10.0, 10.0);
        canvas.text("name", 0.0, 0.0, Anchor::Start, "<script>\"&\0");
        let svg = canvas.finish("a<b", true);
        assert!(
            svg.contains("&lt;script&gt;&quot;&amp;\u{fffd}</text>") && svg.contains("<title>a&lt;b</title>")
        );
    }

    #[test]
    fn coordinates_are_short() {
        assert_eq!([short(1.0), short(0.25), short(-2.7654)], ["1", "0.2", "-2.8"]);
    }
}
