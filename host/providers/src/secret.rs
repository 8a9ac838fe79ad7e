//! Keys, which never show.

use std::{borrow::Cow, fmt};

/// A key. It is sent to its own server and nowhere else: its debug form hides it, and texts that are kept or
/// shown go through [`Secret::redact`].
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// Shorter values stand for "no key needed" (`none`, `local`) and would only mangle texts.
const SHORTEST_REDACTED: usize = 8;

impl Secret {
    /// Wraps a key, without the white space around it that files and shells like to add.
    pub fn new(key: impl AsRef<str>) -> Self {
        Self(key.as_ref().trim().to_owned())
    }

    /// The key itself, for the header that carries it.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// `text` with this key blotted out, for servers that repeat the key they were sent.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.0.len() < SHORTEST_REDACTED || !text.contains(&self.0) {
            return Cow::Borrowed(text);
        }
        Cow::Owned(text.replace(&self.0, "[key]"))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_never_shows() {
        let key = Secret::new("sk-0123456789");
        assert_eq!(format!("{key:?}"), "Secret(…)");
        assert_eq!(Secret::new(" sk-0123456789\n"), key);
        assert_eq!(key.redact("bad key sk-0123456789!"), "bad key [key]!");
        assert_eq!(Secret::new("none").redact("none of it"), "none of it");
    }
}
