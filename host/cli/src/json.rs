//! JSON on stdout: one value a line, in which nothing is left that a terminal would obey.

use crate::clean;
use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use std::io::{self, Write};

/// JSON without spaces that writes what [`clean::is_obeyed`] as `\u` escapes: the same value for every reader.
struct Escaping;

impl Formatter for Escaping {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut plain = 0;
        for (at, c) in fragment.char_indices().filter(|(_, c)| clean::is_obeyed(*c)) {
            writer.write_all(&fragment.as_bytes()[plain..at])?;
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                write!(writer, "\\u{unit:04x}")?;
            }
            plain = at + c.len_utf8();
        }
        writer.write_all(&fragment.as_bytes()[plain..])
    }
}

/// The value as one line of JSON, without a line break.
pub(crate) fn line(value: &impl Serialize) -> serde_json::Result<String> {
    let mut out = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut out, Escaping))?;
    // The serializer only writes whole characters.
    Ok(String::from_utf8_lossy(&out).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn escapes_what_a_terminal_obeys_and_nothing_else() {
        let value = json!({ "ke\u{9b}y": "a\u{1b}[31m\u{7f}\u{202e}\u{e0041} é日\n\"" });
        let line = line(&value).unwrap();
        assert_eq!(line, r#"{"ke\u009by":"a\u001b[31m\u007f\u202e\udb40\udc41 é日\n\""}"#);
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), value);
    }
}
