//! Line endings: text is compared without them and put back with its own.

use std::borrow::Cow;

/// How the lines of a text end. A lone carriage return ends none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Endings {
    /// There is no line break.
    None,
    Lf,
    Crlf,
    /// Both occur; `mostly` says which more often.
    Mixed {
        mostly: LineBreak,
    },
}

/// One line break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineBreak {
    Lf,
    Crlf,
}

impl LineBreak {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::Crlf => "\r\n",
        }
    }

    /// The first one in `text`.
    pub(super) fn first_in(text: &str) -> Option<Self> {
        let at = text.find('\n')?;
        Some(if text[..at].ends_with('\r') { Self::Crlf } else { Self::Lf })
    }
}

impl Endings {
    pub(super) fn of(text: &str) -> Self {
        let all = text.matches('\n').count();
        let crlf = text.matches("\r\n").count();
        match (all - crlf, crlf) {
            (0, 0) => Self::None,
            (_, 0) => Self::Lf,
            (0, _) => Self::Crlf,
            (lf, crlf) => Self::Mixed { mostly: if crlf > lf { LineBreak::Crlf } else { LineBreak::Lf } },
        }
    }

    /// The one to write where nothing nearer decides.
    pub(super) fn usual(self) -> Option<LineBreak> {
        match self {
            Self::None => None,
            Self::Lf => Some(LineBreak::Lf),
            Self::Crlf => Some(LineBreak::Crlf),
            Self::Mixed { mostly } => Some(mostly),
        }
    }
}

/// A text with every line break as `\n`, and the way back to the original's offsets.
#[derive(Debug)]
pub(super) struct Flat<'a> {
    pub(super) text: Cow<'a, str>,
    /// Where in `text` a carriage return was left out, each before a `\n`.
    left_out: Vec<usize>,
}

impl<'a> Flat<'a> {
    pub(super) fn new(original: &'a str) -> Self {
        let mut text = String::new();
        let mut left_out = Vec::new();
        let mut rest = original;
        while let Some(at) = rest.find("\r\n") {
            text.push_str(&rest[..at]);
            left_out.push(text.len());
            text.push('\n');
            rest = &rest[at + 2..];
        }
        if left_out.is_empty() {
            return Self { text: Cow::Borrowed(original), left_out };
        }
        text.push_str(rest);
        Self { text: Cow::Owned(text), left_out }
    }

    /// The original's offset of one in `text`. A line break is never split: an offset before its `\n` is one
    /// before all of it.
    pub(super) fn original(&self, offset: usize) -> usize {
        offset + self.left_out.partition_point(|&at| at < offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognises_endings() {
        for (text, expected) in [
            ("", Endings::None),
            ("a\rb", Endings::None),
            ("a\nb", Endings::Lf),
            ("a\r\n", Endings::Crlf),
            ("a\r\nb\nc\n", Endings::Mixed { mostly: LineBreak::Lf }),
            ("a\r\nb\nc\r\n", Endings::Mixed { mostly: LineBreak::Crlf }),
        ] {
            assert_eq!(Endings::of(text), expected, "{text:?}");
        }
        assert_eq!(LineBreak::first_in("a\r\nb\n"), Some(LineBreak::Crlf));
        assert_eq!(LineBreak::first_in("\n"), Some(LineBreak::Lf));
        assert_eq!(LineBreak::first_in("\r"), None);
    }

    #[test]
    fn every_offset_leads_back() {
        let original = "a\r\n\r\nñ\nb\r\n";
        let flat = Flat::new(original);
        assert_eq!(flat.text, "a\n\nñ\nb\n");
        let back: Vec<_> = flat.text.char_indices().map(|(at, c)| (flat.original(at), c)).collect();
        assert_eq!(back, [(0, 'a'), (1, '\n'), (3, '\n'), (5, 'ñ'), (7, '\n'), (8, 'b'), (9, '\n')]);
        assert_eq!(flat.original(flat.text.len()), original.len());
    }
}
