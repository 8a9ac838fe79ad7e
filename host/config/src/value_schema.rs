//! Checks a value against a JSON Schema, and says what is wrong in words and places.
//!
//! Schemas also come from strangers' components, so they are bounded before they are used: references are
//! replaced by what they refer to, within a budget, which leaves no cycle and no explosion for the validator
//! to walk into.

mod at_most;
mod inline;

use crate::{
    format, nearest,
    source::{escape, unescape},
};
use gg_core::text;
use jsonschema::{PatternOptions, ValidationError, error::ValidationErrorKind};
use serde_json::Value;
use thiserror::Error;

use inline::{MAX_DEPTH, MAX_NODES};

/// The most memory of one compiled `pattern`, in bytes.
const MAX_PATTERN_BYTES: usize = 256 * 1024;

/// Longest excerpt of a schema's own words in a message, in characters.
const GLANCE: usize = 200;

/// Why a JSON Schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SchemaError {
    /// It has too many parts.
    #[error("the schema has more than {MAX_NODES} parts once its references are replaced; use a simpler one")]
    TooLarge,
    /// It is nested too deeply.
    #[error(
        "the schema is nested more than {MAX_DEPTH} deep once its references are replaced; it may not refer to itself"
    )]
    TooDeep,
    /// A reference leads out of it, or nowhere.
    #[error("the schema refers to {0:?}; only JSON pointers within it (\"#/$defs/…\") can be followed")]
    Reference(String),
    /// It is no JSON Schema.
    #[error("this is no JSON Schema (2020-12): {0}")]
    Invalid(String),
}

/// What to mark in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The key in front of the value.
    Key,
    /// The value.
    Value,
}

/// What sort of thing is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A key that the schema does not name.
    UnknownKey(String),
    /// A required key is absent.
    Missing(String),
    /// Another JSON type.
    Type,
    /// None of the values listed.
    Unlisted,
    /// Below or above a limit of value or size.
    Range,
    /// Nothing in it.
    Empty,
    /// Not in the form of this pattern.
    Pattern(String),
    /// More than another value of the same object that it may not exceed.
    Exceeds,
    /// Anything else a schema may demand.
    Other,
}

/// One thing that is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The sort.
    pub kind: FaultKind,
    /// The JSON pointer from the checked value to the faulty one.
    pub pointer: String,
    /// What to mark.
    pub mark: Mark,
    /// What is wrong. Never quotes a value, which may be a secret.
    pub message: String,
    /// What would be right.
    pub help: String,
}

impl std::fmt::Display for Fault {
    /// The place, what is wrong, and what would be right, on one line.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = text::glance(&self.pointer, GLANCE);
        if !place.is_empty() {
            write!(f, "{place}: ")?;
        }
        f.write_str(&text::glance(&self.message, 2 * GLANCE))?;
        if !self.help.is_empty() {
            write!(f, " ({})", text::glance(&self.help, 2 * GLANCE))?;
        }
        Ok(())
    }
}

/// A JSON Schema (2020-12) that is ready to check values.
#[derive(Debug)]
pub struct ValueSchema {
    schema: Value,
    validator: jsonschema::Validator,
}

impl ValueSchema {
    /// Makes a schema ready. Patterns are matched in linear time; formats are not checked.
    ///
    /// # Errors
    /// The schema is none, refers outside itself, refers to itself, or is too large.
    pub fn new(schema: &Value) -> Result<Self, SchemaError> {
        let schema = inline::inline(schema)?;
        let patterns =
            PatternOptions::regex().size_limit(MAX_PATTERN_BYTES).dfa_size_limit(MAX_PATTERN_BYTES);
        let validator = jsonschema::draft202012::options()
            .with_pattern_options(patterns)
            .offline()
            .build(&schema)
            .map_err(|error| SchemaError::Invalid(text::glance(&error.to_string(), GLANCE)))?;
        Ok(Self { schema, validator })
    }

    /// For the params of a capability: keys that the schema does not name are refused even where it says
    /// nothing of them, so that a slip of the pen is not lost.
    ///
    /// # Errors
    /// As [`ValueSchema::new`].
    pub fn for_params(schema: &Value) -> Result<Self, SchemaError> {
        let mut schema = schema.clone();
        if let Value::Object(map) = &mut schema {
            let open =
                ["additionalProperties", "unevaluatedProperties", "patternProperties", "$ref", "allOf"];
            if !open.iter().any(|key| map.contains_key(*key)) {
                map.insert("additionalProperties".into(), Value::Bool(false));
            }
        }
        Self::new(&schema)
    }

    /// The schema with its references replaced.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// Everything that is wrong with `value`; nothing if it is as the schema wants it.
    pub fn check(&self, value: &Value) -> Vec<Fault> {
        let mut faults = Vec::new();
        for error in self.validator.iter_errors(value) {
            self.faults(&error, error.instance_path().as_str(), &mut faults);
        }
        at_most::check(&self.schema, value, "", &mut faults);
        faults
    }

    fn faults(&self, error: &ValidationError<'_>, pointer: &str, faults: &mut Vec<Fault>) {
        use ValidationErrorKind as Kind;
        let here = self.schema_of(error);
        let about = description(here);
        let subject = subject(pointer);
        let mut add = |kind, pointer: &str, mark, message: String, help: String| {
            faults.push(Fault { kind, pointer: pointer.to_owned(), mark, message, help });
        };
        match error.kind() {
            Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
                for key in unexpected {
                    let known: Vec<&str> = properties(here).map(|(name, _)| name).collect();
                    let message = format!("unknown key {:?}", text::glance(key, 60));
                    let at = format!("{pointer}/{}", escape(key));
                    add(FaultKind::UnknownKey(key.clone()), &at, Mark::Key, message, instead(key, &known));
                }
            }
            Kind::Required { property } => {
                let key = property.as_str().unwrap_or_default();
                let about =
                    properties(here).find(|(name, _)| *name == key).map(|(_, schema)| description(schema));
                let (message, help) = missing(key, about.as_deref());
                add(FaultKind::Missing(key.to_owned()), pointer, Mark::Value, message, help);
            }
            Kind::Type { .. } => {
                let message = format!("{subject} takes {}, not {}", expected(here), found(error.instance()));
                add(FaultKind::Type, pointer, Mark::Value, message, about);
            }
            Kind::Enum { .. } | Kind::Constant { .. } | Kind::OneOfNotValid { .. }
                if !options(here).is_empty() =>
            {
                let options = options(here);
                match error.instance().as_str() {
                    Some(word) => {
                        let message = format!("{subject} cannot be {:?}", text::glance(word, 60));
                        add(FaultKind::Unlisted, pointer, Mark::Value, message, instead(word, &options));
                    }
                    None => {
                        let message = format!("{subject} takes a text, not {}", found(error.instance()));
                        add(FaultKind::Type, pointer, Mark::Value, message, list(&options));
                    }
                }
            }
            Kind::Minimum { limit } => add(
                FaultKind::Range,
                pointer,
                Mark::Value,
                format!("{subject} is below {limit}, the least allowed"),
                about,
            ),
            Kind::Maximum { limit } => add(
                FaultKind::Range,
                pointer,
                Mark::Value,
                format!("{subject} is above {limit}, the most allowed"),
                about,
            ),
            Kind::MinLength { limit: 1 } | Kind::MinItems { limit: 1 } | Kind::MinProperties { limit: 1 } => {
                add(FaultKind::Empty, pointer, Mark::Value, format!("{subject} is empty"), about);
            }
            Kind::PropertyNames { error: inner } => {
                if let Some(key) = inner.instance().as_str() {
                    let at = format!("{pointer}/{}", escape(key));
                    let before = faults.len();
                    self.faults(inner, &at, faults);
                    faults.iter_mut().skip(before).for_each(|fault| fault.mark = Mark::Key);
                }
            }
            Kind::Pattern { pattern } => {
                let (kind, message) = if pattern == format::NOT_BLANK {
                    (FaultKind::Empty, format!("{subject} is empty"))
                } else {
                    let message = format!("{subject} has not the form {}", text::glance(pattern, 80));
                    (FaultKind::Pattern(pattern.clone()), message)
                };
                add(kind, pointer, Mark::Value, message, about);
            }
            Kind::Constant { expected_value } => {
                let message = format!("{subject} can only be {expected_value} here");
                add(FaultKind::Unlisted, pointer, Mark::Value, text::glance(&message, GLANCE), about);
            }
            Kind::ExclusiveMinimum { .. }
            | Kind::ExclusiveMaximum { .. }
            | Kind::MultipleOf { .. }
            | Kind::MinLength { .. }
            | Kind::MaxLength { .. }
            | Kind::MinItems { .. }
            | Kind::MaxItems { .. }
            | Kind::MinProperties { .. }
            | Kind::MaxProperties { .. } => add(FaultKind::Range, pointer, Mark::Value, masked(error), about),
            _ => add(FaultKind::Other, pointer, Mark::Value, masked(error), about),
        }
    }

    /// The schema that holds the keyword which failed.
    fn schema_of(&self, error: &ValidationError<'_>) -> &Value {
        let path = error.schema_path().as_str();
        let holder = path.rfind('/').map_or("", |at| &path[..at]);
        self.schema.pointer(holder).unwrap_or(&Value::Null)
    }
}

fn masked(error: &ValidationError<'_>) -> String {
    text::glance(&error.masked_with("the value").to_string(), GLANCE)
}

/// What a message calls the value at `pointer`.
fn subject(pointer: &str) -> String {
    match pointer.rsplit_once('/') {
        None => "the whole".into(),
        Some((_, key)) if key.bytes().all(|b| b.is_ascii_digit()) => "this entry".into(),
        Some((_, key)) => format!("{:?}", text::glance(&unescape(key), 60)),
    }
}

fn properties(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().map(|(name, schema)| (name.as_str(), schema))
}

/// What is said of an absent key, and what would be right; `about` describes the key.
pub(crate) fn missing(key: &str, about: Option<&str>) -> (String, String) {
    let key = text::glance(key, 60);
    let help = match about {
        Some(about) if !about.is_empty() => format!("add {key:?}: {about}"),
        _ => format!("add {key:?}"),
    };
    (format!("{key:?} is missing"), help)
}

/// The first paragraph of a schema's description, on one line.
pub(crate) fn description(schema: &Value) -> String {
    let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    text::glance(description.split("\n\n").next().unwrap_or_default(), GLANCE)
}

/// The words that a schema lists.
fn options(schema: &Value) -> Vec<&str> {
    let array = |key: &str| schema.get(key).and_then(Value::as_array).into_iter().flatten();
    let constants = array("oneOf").filter_map(|option| option.get("const"));
    array("enum").chain(schema.get("const")).chain(constants).filter_map(Value::as_str).collect()
}

fn instead(word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied()) {
        Some(known) => format!("did you mean {known:?}?"),
        None => list(known),
    }
}

pub(crate) fn list(known: &[&str]) -> String {
    match known {
        [] => "nothing can stand here".into(),
        [one] => format!("it can only be {one:?}"),
        _ => {
            let known: Vec<String> = known.iter().map(|name| format!("{name:?}")).collect();
            text::glance(&format!("it can be one of {}", known.join(", ")), 400)
        }
    }
}

fn expected(schema: &Value) -> String {
    let word = |name: &str| match name {
        "integer" => "a whole number",
        "number" => "a number",
        "string" => "a text",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "an object",
        _ => "null",
    };
    match schema.get("type") {
        Some(Value::String(name)) => word(name).into(),
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).map(word).collect::<Vec<_>>().join(" or ")
        }
        _ => "another type".into(),
    }
}

fn found(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(true) => "true",
        Value::Bool(false) => "false",
        Value::Number(number) if number.is_f64() => "a number with a fraction",
        Value::Number(_) => "a whole number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests;
