//! The one place that cuts text.

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

/// The part of `text` that starts at byte `offset`, or at the first character after it, and is at most
/// `max_bytes` long; with the byte where it really starts. A page holds at least one character if any is
/// left, so that reading page after page always gets to the end.
pub fn page(text: &str, offset: usize, max_bytes: usize) -> (usize, &str) {
    let mut start = offset.min(text.len());
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let rest = &text[start..];
    let first = rest.chars().next().map_or(0, char::len_utf8);
    (start, cut(rest, max_bytes.max(first)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_between_characters() {
        assert_eq!(cut("añb", 2), "a");
        assert_eq!(cut("añb", 3), "añ");
        assert_eq!(cut("ñ", 0), "");
        assert_eq!(cut("ab", 9), "ab");
    }

    #[test]
    fn pages_join_to_the_whole() {
        let text = "añ😀b";
        for size in 0..6 {
            let (mut at, mut joined) = (0, String::new());
            while at < text.len() {
                let (start, piece) = page(text, at, size);
                joined.push_str(piece);
                at = start + piece.len();
            }
            assert_eq!(joined, text, "pages of {size}");
        }
        assert_eq!(page(text, 2, 9), (3, "😀b"));
        assert_eq!(page(text, 99, 9), (text.len(), ""));
    }
}
