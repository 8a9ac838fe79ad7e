//! The formats of texts in the document, as regular expressions that the JSON Schema publishes.

/// Ids of agents, names of providers and components: they stand in file names, events and messages.
pub(crate) const ID: &str = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$";

/// A text with something in it besides blanks.
pub(crate) const NOT_BLANK: &str = r"\S";

/// A text in one line, without blanks around it.
pub(crate) const ONE_LINE: &str = r"^\S([^\r\n]*\S)?$";

/// A SHA-256 digest in hexadecimal.
pub(crate) const SHA256: &str = "^[0-9a-fA-F]{64}$";

/// The name of an environment variable, as POSIX shells take it.
pub(crate) const ENVIRONMENT: &str = "^[A-Za-z_][A-Za-z0-9_]{0,127}$";

/// The name of an HTTP header (RFC 9110, `token`).
pub(crate) const HEADER_NAME: &str = "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$";

/// The value of an HTTP header: visible ASCII, blanks inside only (RFC 9110, without the obsolete forms).
pub(crate) const HEADER_VALUE: &str = r"^[!-~]([ \t!-~]*[!-~])?$";

/// Whether `text` is the name of an environment variable, by [`ENVIRONMENT`].
pub(crate) fn is_environment_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    let starts = bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    starts && text.len() <= 128 && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Whether `text` is a digest, by [`SHA256`].
pub(crate) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ValueSchema;
    use serde_json::{Value, json};

    #[test]
    fn the_functions_say_what_the_patterns_say() {
        let matches = |pattern: &str, text: &str| {
            let schema = ValueSchema::new(&json!({ "pattern": pattern })).unwrap();
            schema.check(&Value::from(text)).is_empty()
        };
        let digest = "0123456789abcdefABCDEF".repeat(3)[..64].to_owned();
        for text in ["", "A", "_x9", "9x", "a-b", "sk-1", &"a".repeat(128), &"a".repeat(129), "ä", "a\n"] {
            assert_eq!(is_environment_name(text), matches(ENVIRONMENT, text), "{text:?}");
        }
        for text in ["", &digest, &digest[1..], &format!("{digest}0"), &digest.replace('0', "g")] {
            assert_eq!(is_sha256(text), matches(SHA256, text), "{text:?}");
        }
        for (text, ok) in [("a", true), ("a b", true), (" a", false), ("a\n", false), ("ä", false)] {
            assert_eq!(matches(HEADER_VALUE, text), ok, "{text:?}");
        }
    }
}
