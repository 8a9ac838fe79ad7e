//! The text of a configuration: JSON with comments and trailing commas, and the place of each value.

mod shown;

use crate::{Code, ComponentRef, Mark, Refusal, format, refusal};
use gg_core::text;
use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{ObjectProp, Value as Node},
    common::Ranged,
    errors::ParseErrorKind,
    parse_to_ast,
};
use serde_json::{Map, Value};
use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    ops::Range,
    path::PathBuf,
};

/// The largest document, in bytes. Prompts are a few kilobytes; this leaves room for hundreds of them.
const MAX_BYTES: usize = 1024 * 1024;

/// The deepest nesting. The document itself needs eight levels, params and parameters a few more; what walks
/// the values may then do so recursively.
const MAX_DEPTH: usize = 32;

/// The longest key, in bytes. Every refusal's pointer repeats the keys above it, so they have to stay short.
const MAX_KEY_BYTES: usize = 256;

/// Where a value stands, and the values in it.
#[derive(Clone, Debug)]
struct Place {
    /// The key in front of it; absent in lists and at the root.
    key: Option<Range<usize>>,
    /// The value; of an object or list only its opening bracket.
    value: Range<usize>,
    inner: BTreeMap<String, Place>,
    /// What stood under the same key before it.
    replaced: Vec<Place>,
}

/// A configuration that could be read, though it may still be wrong in every other way.
#[derive(Clone, Debug)]
pub struct Source {
    name: String,
    text: String,
    value: Value,
    root: Place,
    /// The byte at which each line starts.
    lines: Vec<usize>,
    /// What was wrong without keeping the rest from being read.
    early: Vec<Refusal>,
}

/// What the check of a document has to know about the world.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Needs {
    /// The components it names. Paths are relative to the configuration file's folder.
    pub components: Vec<(String, ComponentRef)>,
    /// The environment variables it names.
    pub env: Vec<String>,
    /// The scripts it names, relative to the configuration file's folder.
    pub scripts: Vec<PathBuf>,
    /// The recordings it names, likewise.
    pub recordings: Vec<PathBuf>,
    /// The programs that its hooks name, as written: with a slash relative to that folder, else to be looked up
    /// in PATH.
    pub programs: Vec<String>,
}

impl Source {
    /// Reads `text`; `name` is what messages call it, usually its path.
    ///
    /// # Errors
    /// What keeps the text from being read at all: it is no JSON, or too large.
    pub fn parse(name: &str, text: &str) -> Result<Self, Vec<Refusal>> {
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let root = Place { key: None, value: 0..0, inner: BTreeMap::new(), replaced: Vec::new() };
        let mut source =
            Self { name: name.into(), text: text.into(), value: Value::Null, root, lines, early: Vec::new() };
        let fail = |source: &Self, code, range, message: String, help: &str| {
            Err(vec![source.refusal_at(code, String::new(), range, message, help.into())])
        };
        if text.len() > MAX_BYTES {
            let message = format!("the configuration is {} bytes long, and may be {MAX_BYTES}", text.len());
            return fail(&source, Code::TooLarge, 0..0, message, "keep long texts in files that agents read");
        }
        // A byte order mark is no JSON, yet some editors write one.
        let body = text.strip_prefix('\u{feff}').unwrap_or(text);
        let offset = text.len() - body.len();
        let node = match parse_to_ast(body, &CollectOptions::default(), &options()) {
            Ok(parsed) => parsed.value,
            Err(error) => {
                let range = error.range();
                let range = offset + range.start..offset + range.end;
                if matches!(error.kind(), ParseErrorKind::NestingDepthExceeded) {
                    return fail(&source, Code::TooLarge, range, too_deep(), TOO_DEEP_HELP);
                }
                let message = lower_first(&text::glance(&error.kind().to_string(), 200));
                return fail(&source, Code::Syntax, range, message, syntax_help(error.kind()));
            }
        };
        let Some(node) = node else {
            let help = "begin with an object: { \"maxParallel\": 1, \"providers\": {}, \"agents\": [] }";
            return fail(&source, Code::Syntax, 0..text.len().min(1), "the file is empty".into(), help);
        };
        let mut reader =
            Reader { text: body, offset, source: &source, refusals: Vec::new(), unreadable: Vec::new() };
        let (value, root) = reader.read(&node, None, &mut String::new(), 0);
        let Reader { refusals, mut unreadable, .. } = reader;
        if !unreadable.is_empty() {
            unreadable.extend(refusals);
            refusal::sort(&mut unreadable);
            return Err(unreadable);
        }
        source.early = refusals;
        source.value = value;
        source.root = root;
        Ok(source)
    }

    /// What messages call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text, for whoever shows a place in it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The document as plain JSON. Of a key that stands twice it has the last value.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// What has to be looked up before the check. A document that is wrong elsewhere still says what it can.
    pub fn needs(&self) -> Needs {
        let mut needs = Needs::default();
        let entries = |key: &str| self.value.get(key).and_then(Value::as_object).into_iter().flatten();
        for (name, component) in entries("components") {
            let Some(path) = component.get("path").and_then(Value::as_str) else { continue };
            let sha256 = component.get("sha256").and_then(Value::as_str);
            let sha256 = sha256.filter(|text| format::is_sha256(text)).map(str::to_owned);
            needs.components.push((name.clone(), ComponentRef { path: path.into(), sha256 }));
        }
        let mut env = BTreeSet::new();
        let (mut scripts, mut recordings) = (BTreeSet::new(), BTreeSet::new());
        for (_, provider) in entries("providers") {
            let text = |key: &str| provider.get(key).and_then(Value::as_str);
            env.extend(text("apiKeyEnv").filter(|name| format::is_environment_name(name)));
            match text("api") {
                Some("scripted") => scripts.extend(text("script")),
                Some("replay") => recordings.extend(text("recording")),
                _ => {}
            }
        }
        let programs: BTreeSet<&str> = list(&self.value, "agents")
            .flat_map(|agent| list(agent, "hooks"))
            .filter_map(|hook| hook.get("command")?.get(0)?.as_str())
            .collect();
        needs.programs = programs.into_iter().map(str::to_owned).collect();
        needs.env = env.into_iter().map(str::to_owned).collect();
        needs.scripts = scripts.into_iter().map(PathBuf::from).collect();
        needs.recordings = recordings.into_iter().map(PathBuf::from).collect();
        needs
    }

    /// What was found while reading.
    pub(crate) fn early(&self) -> &[Refusal] {
        &self.early
    }

    /// A refusal about the value at `pointer`, or about the nearest value above it that exists.
    pub(crate) fn refusal(
        &self,
        code: Code,
        pointer: String,
        mark: Mark,
        message: String,
        help: String,
    ) -> Refusal {
        let range = self.place(&pointer, mark);
        self.refusal_at(code, pointer, range, message, help)
    }

    /// The bytes to mark for the value at `pointer`, or for the nearest value above it that exists.
    pub(crate) fn place(&self, pointer: &str, mark: Mark) -> Range<usize> {
        let mut place = &self.root;
        for segment in pointer.split('/').skip(1) {
            match place.inner.get(&unescape(segment)) {
                Some(inner) => place = inner,
                None => return place.value.clone(),
            }
        }
        match (mark, &place.key) {
            (Mark::Key, Some(key)) => key.clone(),
            _ => place.value.clone(),
        }
    }

    /// The place of the very value at `pointer`.
    fn find(&self, pointer: &str) -> Option<&Place> {
        let mut segments = pointer.split('/').skip(1);
        segments.try_fold(&self.root, |place, segment| place.inner.get(&unescape(segment)))
    }

    /// Line and column of a place, from 1, and its length; columns and lengths in characters.
    pub(crate) fn line_column_length(&self, range: &Range<usize>) -> (usize, usize, usize) {
        let line = self.lines.partition_point(|start| *start <= range.start);
        let start = self.lines.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let count = |range: Range<usize>| self.text.get(range).map_or(0, |text| text.chars().count());
        (line, count(start..range.start) + 1, count(range.clone()))
    }

    /// The id of the agent and of the capability that `pointer` leads into.
    pub(crate) fn owner(&self, pointer: &str) -> (Option<String>, Option<String>) {
        let id = |pointer: String| self.value.pointer(&pointer).and_then(Value::as_str).map(str::to_owned);
        let segments: Vec<&str> = pointer.split('/').skip(1).take(4).collect();
        match segments[..] {
            ["agents", agent, "capabilities", capability] => (
                id(format!("/agents/{agent}/id")),
                id(format!("/agents/{agent}/capabilities/{capability}/id")),
            ),
            ["agents", agent, ..] => (id(format!("/agents/{agent}/id")), None),
            _ => (None, None),
        }
    }

    fn refusal_at(
        &self,
        code: Code,
        pointer: String,
        range: Range<usize>,
        message: String,
        help: String,
    ) -> Refusal {
        let (line, column, length) = self.line_column_length(&range);
        let (profile, capability) = self.owner(&pointer);
        Refusal { code, message, help, pointer, line, column, length, profile, capability, range }
    }
}

/// Turns the parser's nodes into values and their places.
struct Reader<'a> {
    text: &'a str,
    /// Bytes of the source in front of `text`.
    offset: usize,
    source: &'a Source,
    refusals: Vec<Refusal>,
    /// What keeps the document from being checked at all.
    unreadable: Vec<Refusal>,
}

impl Reader<'_> {
    fn read(
        &mut self,
        node: &Node<'_>,
        key: Option<Range<usize>>,
        pointer: &mut String,
        depth: usize,
    ) -> (Value, Place) {
        let whole = self.range(node);
        let bracket = whole.start..whole.start + 1;
        let leaf = Place { key, value: whole.clone(), inner: BTreeMap::new(), replaced: Vec::new() };
        if depth > MAX_DEPTH {
            if !self.unreadable.iter().any(|refusal| refusal.code == Code::TooLarge) {
                let refusal = self.refuse(Code::TooLarge, String::new(), bracket, too_deep(), TOO_DEEP_HELP);
                self.unreadable.push(refusal);
            }
            return (Value::Null, leaf);
        }
        match node {
            Node::NullKeyword(_) => (Value::Null, leaf),
            Node::BooleanLit(lit) => (Value::Bool(lit.value), leaf),
            Node::NumberLit(lit) => (self.number(lit.value, whole, pointer), leaf),
            Node::StringLit(lit) => {
                self.check_string(whole, pointer);
                (Value::String(lit.value.clone().into_owned()), leaf)
            }
            Node::Array(array) => {
                let mut place = Place { value: bracket, ..leaf };
                let mut list = Vec::with_capacity(array.elements.len());
                for (at, element) in array.elements.iter().enumerate() {
                    let (value, inner) = within(pointer, &at.to_string(), |pointer| {
                        self.read(element, None, pointer, depth + 1)
                    });
                    place.inner.insert(at.to_string(), inner);
                    list.push(value);
                }
                (Value::Array(list), place)
            }
            Node::Object(object) => {
                let mut place = Place { value: bracket, ..leaf };
                let mut map = Map::new();
                for property in &object.properties {
                    self.property(property, pointer, depth, &mut map, &mut place);
                }
                (Value::Object(map), place)
            }
        }
    }

    fn property(
        &mut self,
        property: &ObjectProp<'_>,
        pointer: &mut String,
        depth: usize,
        map: &mut Map<String, Value>,
        place: &mut Place,
    ) {
        let name = property.name.as_str();
        let key = self.range(&property.name);
        if name.len() > MAX_KEY_BYTES {
            let message = format!("a key of {} bytes; keys have at most {MAX_KEY_BYTES}", name.len());
            let refusal = self.refuse(Code::TooLarge, pointer.clone(), key, message, "use a short key");
            self.unreadable.push(refusal);
            return;
        }
        let (value, inner) = within(pointer, &escape(name), |pointer| {
            self.check_string(key.clone(), pointer);
            self.read(&property.value, Some(key.clone()), pointer, depth + 1)
        });
        map.insert(name.to_owned(), value);
        match place.inner.entry(name.to_owned()) {
            Entry::Vacant(entry) => {
                entry.insert(inner);
            }
            Entry::Occupied(mut entry) => {
                let first = entry.get().key.clone().unwrap_or_default();
                let (line, ..) = self.source.line_column_length(&first);
                let message = format!("the key {:?} stands here again", text::glance(name, 60));
                let help = format!("keep one of the two; the other is in line {line}");
                let full = format!("{pointer}/{}", escape(name));
                let refusal = self.refuse(Code::DuplicateKey, full, key, message, &help);
                self.refusals.push(refusal);
                let mut first = entry.insert(inner);
                let mut replaced = std::mem::take(&mut first.replaced);
                replaced.push(first);
                entry.get_mut().replaced = replaced;
            }
        }
    }

    /// JSON has one sort of number, so `1.0` is the whole number 1.
    fn number(&mut self, digits: &str, range: Range<usize>, pointer: &str) -> Value {
        /// Whole numbers beyond this are not exact in a double.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        match digits.parse::<serde_json::Number>() {
            Ok(number) => match number.as_f64() {
                Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() <= EXACT => {
                    Value::from(float as i64)
                }
                _ => Value::Number(number),
            },
            Err(_) => {
                let message = format!("the number {} is too large", text::glance(digits, 30));
                let refusal =
                    self.refuse(Code::OutOfRange, pointer.to_owned(), range, message, "use a smaller number");
                self.refusals.push(refusal);
                Value::Null
            }
        }
    }

    /// The parser lets raw control characters pass inside strings; JSON does not, and a line break there is
    /// usually a quote forgotten.
    fn check_string(&mut self, range: Range<usize>, pointer: &str) {
        let raw = self.text.get(range.start - self.offset..range.end - self.offset).unwrap_or_default();
        if let Some(at) = raw.bytes().position(|b| b < 0x20) {
            let at = range.start + at;
            let refusal = self.refuse(
                Code::Syntax,
                pointer.to_owned(),
                at..at + 1,
                "a line break or control character inside a string".into(),
                "close the string on its line; write line breaks as \\n",
            );
            self.unreadable.push(refusal);
        }
    }

    fn range(&self, node: &impl Ranged) -> Range<usize> {
        self.offset + node.start()..self.offset + node.end()
    }

    fn refuse(
        &self,
        code: Code,
        pointer: String,
        range: Range<usize>,
        message: String,
        help: &str,
    ) -> Refusal {
        self.source.refusal_at(code, pointer, range, message, help.into())
    }
}

/// Runs `read` with `segment` appended to the pointer.
fn within<T>(pointer: &mut String, segment: &str, read: impl FnOnce(&mut String) -> T) -> T {
    let length = pointer.len();
    pointer.push('/');
    pointer.push_str(segment);
    let result = read(pointer);
    pointer.truncate(length);
    result
}

/// The items of the list at `key`; none if there is no list.
fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

const TOO_DEEP_HELP: &str = "nest less; a missing closing bracket also looks like this";

fn too_deep() -> String {
    format!("values are nested more than {MAX_DEPTH} deep")
}

fn options() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

fn syntax_help(kind: &ParseErrorKind) -> &'static str {
    use ParseErrorKind::*;
    match kind {
        ExpectedComma => "put a comma between two entries",
        ExpectedColonAfterObjectKey => "put a colon between key and value",
        ExpectedObjectValue => "put a value after the colon",
        ExpectedStringObjectProperty | SingleQuotedStringsNotAllowed => "write it in double quotes",
        UnterminatedObject => "close the object with }",
        UnterminatedArray => "close the list with ]",
        UnterminatedCommentBlock => "close the comment with */",
        UnexpectedWord => "write texts in double quotes; the only bare words are true, false and null",
        MultipleRootJsonValues => "one configuration is one object; remove what follows it",
        String(_) => "strings end with a double quote on the line they begin in; write \\\\ for a backslash",
        _ => "configurations are JSON; comments and trailing commas are allowed as well",
    }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

/// One segment of a JSON pointer, escaped (RFC 6901).
pub(crate) fn escape(segment: &str) -> String {
    segment.replace('~', "~0").replace('/', "~1")
}

/// One segment of a JSON pointer, as the key it names.
pub(crate) fn unescape(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests;
