//! The text of a configuration as it may be shown: without what is, or might be, a secret.

use super::{Place, Source};
use crate::{Code, Mark, Refusal, format};
use std::ops::Range;

impl Source {
    /// The text as it may be shown beside `refusals`: what they call a secret, or might be one, is blotted out
    /// byte by byte, so that every place stays where it is.
    pub fn shown_text(&self, refusals: &[Refusal]) -> String {
        let mut bytes = self.text.clone().into_bytes();
        for refusal in refusals {
            let at_key = || refusal.pointer.rsplit('/').next().unwrap_or_default();
            match refusal.code {
                // Also of a URL that is refused for its form: what is wrong with it may be where its secret is.
                Code::SecretInFile | Code::BadUrl if at_key() == "baseUrl" => {
                    let range = self.place(&refusal.pointer, Mark::Value);
                    for secret in
                        secrets_of_url(self.text.get(range.clone()).unwrap_or_default()).into_iter().flatten()
                    {
                        blot(&mut bytes, range.start + secret.start..range.start + secret.end);
                    }
                }
                Code::SecretInFile => self.blot_within(&mut bytes, &refusal.pointer),
                _ if at_key() == "apiKeyEnv" => {
                    // A name is none; a key that was put where its name belongs has other characters.
                    let value = self.value.pointer(&refusal.pointer).and_then(serde_json::Value::as_str);
                    if !value.is_some_and(format::is_environment_name) {
                        self.blot_within(&mut bytes, &refusal.pointer);
                    }
                }
                _ => {}
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Blots out every text and number at `pointer` and in it, also where its key stands twice.
    fn blot_within(&self, bytes: &mut [u8], pointer: &str) {
        fn of(place: &Place, bytes: &mut [u8]) {
            if place.inner.is_empty() {
                blot(bytes, place.value.clone());
            }
            place.inner.values().chain(&place.replaced).for_each(|inner| of(inner, bytes));
        }
        if let Some(place) = self.find(pointer) {
            of(place, bytes);
        }
    }
}

/// Covers a value, and leaves what a reader knows its bounds and its lines by.
fn blot(bytes: &mut [u8], range: Range<usize>) {
    for byte in bytes.get_mut(range).unwrap_or_default() {
        if !matches!(*byte, b'"' | b'\n' | b'\r' | b'{' | b'}' | b'[' | b']') {
            *byte = b'*';
        }
    }
}

/// Where a URL, as it is written in a document, holds what only its owner should know: its user and password, its
/// query and its fragment. What is not written as a URL should be may hold them anywhere before an `@`.
fn secrets_of_url(raw: &str) -> [Option<Range<usize>>; 2] {
    if raw.contains('\\') {
        // Escapes may stand for any of the characters that are looked for.
        return [Some(0..raw.len()), None];
    }
    let start = raw.find("://").map_or(0, |at| at + "://".len());
    let rest = &raw[start..];
    let users = rest.rfind('@').map(|at| start..start + at);
    let query = rest.find(['?', '#']).map(|at| start + at + 1..raw.len());
    [users, query]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The document with a refusal of `code` at `pointer`, as it is shown.
    fn shown(text: &str, code: Code, pointer: &str) -> String {
        let source = Source::parse("test", text).unwrap();
        let refusal = source.refusal(code, pointer.to_owned(), Mark::Value, String::new(), String::new());
        let shown = source.shown_text(&[refusal]);
        assert_eq!(shown.len(), text.len());
        assert_eq!(source.shown_text(&[]), text);
        shown
    }

    #[test]
    fn of_a_url_only_what_may_be_a_secret_is_blotted() {
        for (url, seen) in [
            ("localhost:8080/v1", "localhost:8080/v1"),
            ("http://host:80/v1?key=sk-1", "http://host:80/v1?********"),
            ("http://host/v1#x", "http://host/v1#*"),
            ("http://me:p/w@host/v1", "http://******@host/v1"),
            ("me:secret@host/v1", "*********@host/v1"),
            // Whether this is a password or a query, only its owner knows.
            ("http://me:p?w@host/v1", "http://**************"),
            (r"http:\/\/me:secret@host", "***********************"),
        ] {
            for code in [Code::BadUrl, Code::SecretInFile] {
                let text = format!("{{\"providers\": {{\"a\": {{\"baseUrl\": \"{url}\"}}}}}}");
                let shown = shown(&text, code, "/providers/a/baseUrl");
                let value = shown.split("\"baseUrl\": \"").nth(1).unwrap().split('"').next().unwrap();
                assert_eq!(value, seen);
            }
        }
    }

    #[test]
    fn a_name_of_the_environment_is_shown_and_what_is_none_is_not() {
        let text = |value: &str| format!("{{\"providers\": {{\"a\": {{\"apiKeyEnv\": \"{value}\"}}}}}}");
        let pointer = "/providers/a/apiKeyEnv";
        assert_eq!(shown(&text("MY_KEY"), Code::MissingEnvironment, pointer), text("MY_KEY"));
        assert_eq!(shown(&text("sk-é-1"), Code::BadId, pointer), text("*******"));
    }

    #[test]
    fn a_secret_is_blotted_whatever_it_stands_in() {
        let text = r#"{"token": ["one", {"a": "two", "a": "three"}], "b": "seen"}"#;
        let seen = r#"{"token": ["***", {"a": "***", "a": "*****"}], "b": "seen"}"#;
        assert_eq!(shown(text, Code::SecretInFile, "/token"), seen);
        let text = r#"{"token": "one", "token": "two"}"#;
        assert_eq!(shown(text, Code::SecretInFile, "/token"), r#"{"token": "***", "token": "***"}"#);
    }
}
