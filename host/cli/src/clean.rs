//! Makes text from models, files and servers safe to show: what a terminal would obey, or what would make a
//! line read in another order than it is stored, is replaced by a visible character.

/// One line: line breaks and tabs become spaces.
pub(crate) fn line(text: &str) -> String {
    text.chars().map(|c| if matches!(c, '\n' | '\r' | '\t') { ' ' } else { shown(c) }).collect()
}

/// Text of several lines: line breaks stay, a tab becomes four spaces.
pub(crate) fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' => out.push('\n'),
            '\r' if chars.peek() == Some(&'\n') => {}
            '\t' => out.push_str("    "),
            c => out.push(shown(c)),
        }
    }
    out
}

/// Source text whose byte positions must keep their meaning: every replacement is as long as what it stands
/// for. Line breaks and tabs stay.
pub(crate) fn same_length(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let breaks = matches!(c, '\n' | '\t') || (c == '\r' && chars.peek() == Some(&'\n'));
        if breaks || !is_obeyed(c) {
            out.push(c);
            continue;
        }
        match c.len_utf8() {
            1 => out.push('?'),
            2 => out.push('¿'),
            3 => out.push('\u{FFFD}'),
            bytes => out.push_str(&"?".repeat(bytes)),
        }
    }
    out
}

/// The character, or the visible one that stands for it.
fn shown(c: char) -> char {
    match c {
        '\u{7F}' => '\u{2421}',
        // Unicode's own pictures of the control characters.
        c if (c as u32) < 0x20 => char::from_u32(0x2400 + c as u32).unwrap_or('\u{FFFD}'),
        c if is_obeyed(c) => '\u{FFFD}',
        c => c,
    }
}

/// Whether a terminal acts on the character, or it changes how its neighbours are read: controls of both
/// ranges, line and paragraph separators, directional marks and overrides, invisible tags.
pub(crate) fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{061C}'
                | '\u{200E}'
                | '\u{200F}'
                | '\u{2028}'..='\u{202E}'
                | '\u{2066}'..='\u{2069}'
                | '\u{FEFF}'
                | '\u{E0000}'..='\u{E007F}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_terminal_obeys_gets_through() {
        let hostile = "a\u{1b}[31mb\u{9b}2Jc\u{7}\u{202e}d\u{7f}\u{e0041}";
        assert_eq!(line(hostile), "a␛[31mb\u{FFFD}2Jc␇\u{FFFD}d␡\u{FFFD}");
        assert_eq!(text(hostile), line(hostile));
        assert_eq!(same_length(hostile), "a?[31mb¿2Jc?\u{FFFD}d?????");
        assert_eq!(same_length(hostile).len(), hostile.len());
    }

    #[test]
    fn line_breaks_stay_where_there_may_be_lines() {
        assert_eq!(line("a\r\nb\tc"), "a  b c");
        assert_eq!(text("a\r\nb\tc\rd"), "a\nb    c␍d");
        assert_eq!(same_length("a\r\nb\tc\rd"), "a\r\nb\tc?d");
    }

    #[test]
    fn every_scalar_value_is_safe_afterwards() {
        let all: String = (0..=0x10FFFF_u32).filter_map(char::from_u32).collect();
        assert!(!line(&all).chars().any(is_obeyed));
        assert!(!text(&all).chars().any(|c| c != '\n' && is_obeyed(c)));
        assert_eq!(same_length(&all).len(), all.len());
    }
}
