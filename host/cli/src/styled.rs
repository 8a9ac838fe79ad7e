//! Lines with meaning in them: what is said apart from how a terminal shows it. All text passes through
//! [`clean`] on its way in, so a line can always be shown.

use crate::clean;
use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthChar;

/// What a piece of a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Ordinary text.
    Plain,
    /// Less important than what is around it.
    Faint,
    /// A heading.
    Strong,
    /// A name: an agent, a call.
    Name,
    /// It went well.
    Good,
    /// Worth a look.
    Warn,
    /// It went wrong.
    Bad,
}

impl Tone {
    fn style(self) -> Style {
        match self {
            Self::Plain => Style::new(),
            Self::Faint => Style::new().dimmed(),
            Self::Strong => Style::new().bold(),
            Self::Name => AnsiColor::Cyan.on_default(),
            Self::Good => AnsiColor::Green.on_default(),
            Self::Warn => AnsiColor::Yellow.on_default(),
            Self::Bad => AnsiColor::Red.on_default().bold(),
        }
    }
}

/// Whether lines are written with colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    /// With them.
    On,
    /// Text only: `NO_COLOR`, a pipe, a terminal that has none.
    Off,
}

/// One line of text in tones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line(Vec<(Tone, String)>);

impl Line {
    /// An empty line.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The line with a piece added.
    #[must_use]
    pub(crate) fn with(mut self, tone: Tone, text: impl AsRef<str>) -> Self {
        self.0.push((tone, clean::line(text.as_ref())));
        self
    }

    /// The line with plain text added.
    #[must_use]
    pub(crate) fn plain(self, text: impl AsRef<str>) -> Self {
        self.with(Tone::Plain, text)
    }

    /// The line with another behind it.
    #[must_use]
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Its text.
    pub(crate) fn text(&self) -> String {
        self.0.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// How many columns it takes.
    pub(crate) fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| width(text)).sum()
    }

    /// The line within so many columns: an ellipsis stands for what is missing.
    #[must_use]
    pub(crate) fn fit(self, columns: usize) -> Self {
        if self.width() <= columns {
            return self;
        }
        let mut room = columns.saturating_sub(1);
        let mut cut = Vec::new();
        for (tone, text) in self.0 {
            let kept = prefix(&text, room);
            room -= width(kept);
            let whole = kept.len() == text.len();
            let mut kept = kept.to_owned();
            if !whole {
                if columns > 0 {
                    kept.push('…');
                }
                cut.push((tone, kept));
                break;
            }
            cut.push((tone, kept));
        }
        Self(cut)
    }

    /// The line as it is written to a terminal or a file, without a line break.
    pub(crate) fn render(&self, colour: Colour) -> String {
        if colour == Colour::Off {
            return self.text();
        }
        let mut out = String::new();
        for (tone, text) in &self.0 {
            let style = tone.style();
            out.push_str(&format!("{style}{text}{style:#}"));
        }
        out
    }
}

/// The columns that a terminal gives a text. Sequences that join into one picture count each part, so that
/// the answer is never too small.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// The longest start of `text` within so many columns.
fn prefix(text: &str, columns: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > columns {
            return &text[..at];
        }
    }
    text
}

/// Text of several lines, cleaned and broken between words to at most so many columns. A word that is wider
/// than that is broken inside.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    // A double-width character must fit somewhere.
    let columns = columns.max(2);
    let mut lines = Vec::new();
    for paragraph in clean::text(text).lines() {
        wrap_paragraph(paragraph, columns, &mut lines);
    }
    lines
}

fn wrap_paragraph(paragraph: &str, columns: usize, lines: &mut Vec<String>) {
    let mut line = String::new();
    let mut used = 0;
    for word in paragraph.split_inclusive(' ') {
        let visible = width(word.trim_end_matches(' '));
        if used > 0 && used + visible > columns {
            lines.push(std::mem::take(&mut line).trim_end().to_owned());
            used = 0;
        }
        let mut rest = word;
        while width(rest.trim_end_matches(' ')) > columns {
            let start = prefix(rest, columns);
            lines.push(start.to_owned());
            rest = &rest[start.len()..];
        }
        line.push_str(rest);
        used += width(rest);
    }
    lines.push(line.trim_end().to_owned());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_to_its_columns() {
        let line = Line::new().with(Tone::Name, "read_file").plain(" 日本語.txt");
        assert_eq!(line.width(), 20);
        assert_eq!(line.clone().fit(20), line);
        let cut: Vec<(String, usize)> = [19, 14, 13, 9, 1, 0]
            .map(|columns| line.clone().fit(columns))
            .map(|line| (line.text(), line.width()))
            .into();
        let expected: Vec<(String, usize)> = [
            ("read_file 日本語.t…", 19),
            ("read_file 日…", 13),
            ("read_file 日…", 13),
            ("read_fil…", 9),
            ("…", 1),
            ("", 0),
        ]
        .map(|(text, width)| (text.to_owned(), width))
        .into();
        assert_eq!(cut, expected);
    }

    #[test]
    fn words_stay_whole_where_they_can() {
        assert_eq!(wrap("one two three\n\n  indented", 10), ["one two", "three", "", "  indented"]);
        assert_eq!(wrap("abcdefgh ij", 5), ["abcde", "fgh", "ij"]);
        assert_eq!(wrap("日本語", 3), ["日", "本", "語"]);
        assert_eq!(wrap("日", 0), ["日"]);
        assert_eq!(wrap("", 10), Vec::<String>::new());
    }

    #[test]
    fn colours_are_written_only_where_they_are_wanted() {
        let line = Line::new().with(Tone::Good, "ok\u{1b}[2J");
        assert_eq!(line.render(Colour::Off), "ok␛[2J");
        assert_eq!(line.render(Colour::On), "\u{1b}[32mok␛[2J\u{1b}[0m");
    }
}
