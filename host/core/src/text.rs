//! The one place that cuts text.

mod excerpt;

pub use excerpt::Excerpt;

/// The longest prefix of `text` that is at most `max_bytes` long and ends between two characters.
pub fn cut(text: &str, max_bytes: usize) -> &str {
    if text.len() <= max_bytes {
        return text;
    }
    let mut end = max_bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The longest end of `text` that is at most `max_bytes` long and begins between two characters.
pub fn cut_front(text: &str, max_bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(max_bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// The text, or its start with a line that says how much was left out. The whole is at most `max_bytes` long
/// unless that is too small to hold the line itself.
pub fn cut_saying_so(text: String, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text;
    }
    let room = max_bytes.saturating_sub(64);
    let kept = cut(&text, room);
    format!("{kept}\n[cut: {} of {} bytes shown]", kept.len(), text.len())
}

/// One line of at most `max_chars` characters, for a person to glance at: control characters become spaces,
/// and an ellipsis stands for what is missing.
pub fn glance(text: &str, max_chars: usize) -> String {
    let mut line = String::new();
    let mut count = 0;
    let mut gap = false;
    for c in text.trim().chars() {
        if c.is_whitespace() || c.is_control() {
            gap = true;
            continue;
        }
        if gap {
            line.push(' ');
            count += 1;
            gap = false;
        }
        if count + 1 >= max_chars {
            line.push('…');
            return line;
        }
        line.push(c);
        count += 1;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_between_characters() {
        assert_eq!(cut("añb", 2), "a");
        assert_eq!(cut("añb", 3), "añ");
        assert_eq!(cut("añb", 9), "añb");
        assert_eq!(cut("ñ", 0), "");
        assert_eq!(cut_front("añb", 2), "b");
        assert_eq!(cut_front("añb", 3), "ñb");
        assert_eq!(cut_front("añb", 9), "añb");
    }

    #[test]
    fn says_what_was_left_out_within_the_bound() {
        let long = "ñ".repeat(200);
        let shown = cut_saying_so(long, 101);
        assert!(shown.len() <= 101, "{}", shown.len());
        assert!(shown.ends_with("[cut: 36 of 400 bytes shown]"), "{shown}");
        assert_eq!(cut_saying_so("short".into(), 5), "short");
    }

    #[test]
    fn a_glance_is_one_short_line() {
        assert_eq!(glance("  a\n\n b\u{1b}[31m ", 20), "a b [31m");
        assert_eq!(glance("abcdef", 4), "abc…");
    }
}
