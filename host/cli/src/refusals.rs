//! Shows refusals as a compiler would: the line of the source, the place marked, what would be right.

use crate::{
    clean,
    styled::{Colour, Line, Tone},
    terminal,
};
use gg_config::Refusal;
use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError, MietteSpanContents,
    SourceCode, SourceSpan, SpanContents,
};
use std::{error::Error, fmt, io::Write, ops::Range};

/// How wide a report is, unless the terminal is narrower: longer lines are hard to read.
const MAX_COLUMNS: usize = 120;

/// What a report puts before and after the source's own lines, in columns.
const FRAME_COLUMNS: usize = 10;

/// The least of a line that is shown, in bytes, however narrow the terminal is.
const MIN_LINE_BYTES: usize = 40;

/// Writes the refusals of the configuration `text`, called `name`, to stderr, and what to do then.
pub(crate) fn print(name: &str, text: &str, refusals: &[Refusal]) {
    let colour = terminal::stderr_colour();
    let columns = terminal::stderr_columns().min(MAX_COLUMNS);
    let report = render(name, text, refusals, colour, columns);
    // There is nobody to tell if stderr is gone.
    let _ = std::io::stderr().write_all(report.as_bytes());
    let count = match refusals.len() {
        1 => "1 thing is wrong".to_owned(),
        n => format!("{n} things are wrong"),
    };
    let line = Line::new().with(Tone::Bad, "refused: ").plain(format!("{count} in {name}"));
    terminal::say(&line, colour);
}

fn render(name: &str, text: &str, refusals: &[Refusal], colour: Colour, columns: usize) -> String {
    let theme = match colour {
        Colour::On => GraphicalTheme::unicode(),
        Colour::Off => GraphicalTheme::unicode_nocolor(),
    };
    let handler =
        GraphicalReportHandler::new_themed(theme).with_links(false).with_width(columns).with_context_lines(1);
    let mut out = String::new();
    for refusal in refusals {
        let shown = Shown::new(name, text, refusal, columns);
        if handler.render_report(&mut out, &shown).is_err() {
            // A place that miette cannot show is still named.
            let place = format!("{}:{}:{}", refusal.line, refusal.column, clean::line(&refusal.message));
            out.push_str(&format!("{}:{place}\n", clean::line(name)));
        }
        out.push('\n');
    }
    out
}

/// A refusal as miette wants it, with nothing in it that a terminal would obey.
#[derive(Debug)]
struct Shown {
    message: String,
    code: &'static str,
    help: String,
    label: String,
    excerpt: Excerpt,
}

impl Shown {
    fn new(name: &str, text: &str, refusal: &Refusal, columns: usize) -> Self {
        let about = [
            refusal.profile.as_ref().map(|id| format!("agent {id}")),
            refusal.capability.as_ref().map(|id| format!("capability {id}")),
        ];
        let about: Vec<String> = about.into_iter().flatten().collect();
        Self {
            message: clean::line(&refusal.message),
            code: refusal.code.as_str(),
            help: clean::text(&refusal.help),
            label: clean::line(&about.join(", ")),
            excerpt: Excerpt::new(name, text, refusal, columns),
        }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Shown {}

impl Diagnostic for Shown {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.code))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        (!self.help.is_empty()).then(|| Box::new(&self.help) as Box<dyn fmt::Display>)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let label = (!self.label.is_empty()).then(|| self.label.clone());
        Some(Box::new(std::iter::once(LabeledSpan::new_primary_with_span(label, self.excerpt.mark))))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.excerpt)
    }
}

/// The marked line and its neighbours, each cut where it is longer than the terminal is wide: a whole
/// configuration may stand on one line.
#[derive(Debug)]
struct Excerpt {
    name: String,
    text: String,
    /// The number of its first line, from 0.
    first_line: usize,
    mark: SourceSpan,
    /// The mark's column in the whole source, from 0.
    column: usize,
}

impl Excerpt {
    fn new(name: &str, source: &str, refusal: &Refusal, columns: usize) -> Self {
        // A byte never takes more than a column.
        let room = columns.saturating_sub(FRAME_COLUMNS).max(MIN_LINE_BYTES);
        let marked = bounded(source, &refusal.range);
        let line = line_around(source, marked.start);
        let mut text = String::new();
        let mut first_line = refusal.line.saturating_sub(1);
        if let Some(end) = line.start.checked_sub(1) {
            text.push_str(start_of(source, line_around(source, end), room));
            text.push('\n');
            first_line = first_line.saturating_sub(1);
        }
        let shown = around(source, &line, marked.start, room);
        // A mark that goes on beyond what is shown ends there.
        let end = marked.end.clamp(marked.start, shown.end.max(marked.start));
        if shown.start > line.start {
            text.push('…');
        }
        let mark = text.len() + marked.start - shown.start..text.len() + end - shown.start;
        let is_cut = shown.end < line.end;
        text.push_str(source[shown].trim_end_matches('\r'));
        if is_cut {
            text.push('…');
        }
        if line.end < source.len() {
            text.push('\n');
            text.push_str(start_of(source, line_around(source, line.end + 1), room));
        }
        Self {
            name: clean::line(name),
            text: clean::same_length(&text),
            first_line,
            mark: mark.into(),
            column: refusal.column.saturating_sub(1),
        }
    }
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let found = self.text.read_span(span, before, after)?;
        let is_mark = before == 0 && span.offset() == self.mark.offset();
        let column = if is_mark { self.column } else { found.column() };
        Ok(Box::new(MietteSpanContents::new_named(
            self.name.clone(),
            found.data(),
            *found.span(),
            found.line() + self.first_line,
            column,
            found.line_count(),
        )))
    }
}

/// The range within the text, on character boundaries.
fn bounded(text: &str, range: &Range<usize>) -> Range<usize> {
    let start = floor(text, range.start);
    start..floor(text, range.end).max(start)
}

/// The line that the byte stands on, without its line break.
fn line_around(text: &str, at: usize) -> Range<usize> {
    let start = text[..at].rfind('\n').map_or(0, |found| found + 1);
    let end = text[at..].find('\n').map_or(text.len(), |found| at + found);
    start..end
}

/// The line's first bytes.
fn start_of(text: &str, line: Range<usize>, bytes: usize) -> &str {
    text[line.start..floor(text, line.end.min(line.start + bytes))].trim_end()
}

/// The line, or so much of it around the byte.
fn around(text: &str, line: &Range<usize>, at: usize, bytes: usize) -> Range<usize> {
    if line.len() <= bytes {
        return line.clone();
    }
    let latest = line.end - bytes;
    let start = floor(text, at.saturating_sub(bytes / 2).clamp(line.start, latest));
    start..floor(text, line.end.min(start + bytes))
}

/// The nearest place at or before the byte that lies between two characters.
fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at.min(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gg_config::Code;

    fn refusal(source: &str, mark: &str) -> Refusal {
        let start = source.find(mark).unwrap();
        let before = &source[..start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Refusal {
            code: Code::UnknownKey,
            message: "unknown key \"maxTurn\"\u{1b}[2J".into(),
            help: "did you mean \"maxTurns\"?".into(),
            pointer: "/agents/0/maxTurn".into(),
            line: before.matches('\n').count() + 1,
            column: source[line_start..start].chars().count() + 1,
            length: mark.chars().count(),
            profile: Some("lead".into()),
            capability: None,
            range: start..start + mark.len(),
        }
    }

    fn shown(source: &str, mark: &str) -> String {
        render("agents.jsonc", source, &[refusal(source, mark)], Colour::Off, 80)
    }

    #[test]
    fn marks_the_place_between_its_neighbours() {
        let source = "{\r\n  // é\u{9b}\r\n\t\"naïve\": 1, \"maxTurn\": 3,\r\n  \"x\": 日\r\n}";
        insta::assert_snapshot!(shown(source, "\"maxTurn\""));
    }

    #[test]
    fn cuts_a_document_on_one_line() {
        let source =
            format!("{{{}\"maxTurn\": 1{}}}", "\"é\": 1, ".repeat(50_000), ", \"y\": 2".repeat(50_000));
        insta::assert_snapshot!(shown(&source, "\"maxTurn\""));
    }

    #[test]
    fn any_place_of_any_text_can_be_shown() {
        let source = "é\n\r\n\u{9b}x\n";
        for start in 0..=source.len() + 1 {
            for end in start..=source.len() + 1 {
                let refusal = Refusal { range: start..end, ..refusal("x", "x") };
                let shown = render("f", source, &[refusal], Colour::Off, 80);
                assert!(
                    shown.contains("unknown-key") && shown.contains("maxTurns"),
                    "{start}..{end}: {shown}"
                );
            }
        }
    }
}
