//! The JSON Schemas that components bring along: which ones gg accepts, and the check of arguments.
//!
//! A schema is a stranger's program for the host's validator, so it is bounded like one: references stay
//! inside it and unfold to a bounded size, and patterns run on a linear engine.

use crate::error::DescriptorError;
use gg_core::text;
use jsonschema::{PatternOptions, Validator};
use serde_json::{Map, Value};

/// The longest schema, in bytes: far more than a model would read.
pub(crate) const SCHEMA_BYTES: usize = 64 * 1024;

/// The most values that a schema may have with its references unfolded. It bounds the work of a check.
const UNFOLDED_VALUES: usize = 20_000;

/// How deep a schema may nest with its references unfolded. It ends schemas that refer to themselves.
const UNFOLDED_DEPTH: usize = 96;

/// The keywords whose targets depend on more than the schema's text.
const DYNAMIC_KEYWORDS: [&str; 2] = ["$dynamicRef", "$recursiveRef"];

/// The most that is said about arguments that do not fit.
const MAX_COMPLAINTS: usize = 5;

/// The longest single complaint, in bytes: it may quote an argument.
const COMPLAINT_BYTES: usize = 500;

/// Arguments' schema, ready to check with.
pub(crate) struct Schema {
    value: Value,
    validator: Validator,
}

impl Schema {
    /// Reads a schema of an object. `what` names it in errors.
    pub(crate) fn parse(what: &str, json: &str) -> Result<Self, DescriptorError> {
        if json.len() > SCHEMA_BYTES {
            return Err(DescriptorError::TooLong {
                what: what.to_owned(),
                found: json.len(),
                most: SCHEMA_BYTES,
            });
        }
        let refuse = |error: String| DescriptorError::Schema {
            what: what.to_owned(),
            error: text::cut_saying_so(error, COMPLAINT_BYTES),
        };
        let value: Value = serde_json::from_str(json).map_err(|error| refuse(error.to_string()))?;
        let Value::Object(top) = &value else {
            return Err(refuse("it is not a JSON object".into()));
        };
        match top.get("type") {
            None => {}
            Some(Value::String(ty)) if ty == "object" => {}
            Some(other) => return Err(refuse(format!("its `type` is {other}"))),
        }
        let mut budget = UNFOLDED_VALUES;
        unfold(&value, &value, 0, &mut budget).map_err(refuse)?;
        let validator = jsonschema::options()
            .with_pattern_options(PatternOptions::regex())
            .build(&value)
            .map_err(|error| refuse(error.to_string()))?;
        Ok(Self { value, validator })
    }

    /// The schema itself.
    pub(crate) fn value(&self) -> &Value {
        &self.value
    }

    /// Checks arguments; the error is for the model to read.
    pub(crate) fn check(&self, arguments: &Map<String, Value>) -> Result<(), String> {
        let arguments = Value::Object(arguments.clone());
        let mut complaints = Vec::new();
        for error in self.validator.iter_errors(&arguments).take(MAX_COMPLAINTS) {
            let place = error.instance_path().to_string();
            let said = text::cut_saying_so(error.to_string(), COMPLAINT_BYTES);
            complaints.push(if place.is_empty() { said } else { format!("{place}: {said}") });
        }
        if complaints.is_empty() { Ok(()) } else { Err(complaints.join("; ")) }
    }
}

/// Counts the values of a schema with its references followed, and refuses references that cannot be.
fn unfold(value: &Value, root: &Value, depth: usize, budget: &mut usize) -> Result<(), String> {
    if depth > UNFOLDED_DEPTH {
        return Err(format!("it nests deeper than {UNFOLDED_DEPTH} levels, or refers to itself"));
    }
    *budget = budget
        .checked_sub(1)
        .ok_or_else(|| format!("its references unfold to more than {UNFOLDED_VALUES} values"))?;
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                if DYNAMIC_KEYWORDS.contains(&key.as_str()) {
                    return Err(format!("it uses `{key}`"));
                }
                match (key.as_str(), value) {
                    ("$ref", Value::String(target)) => {
                        let inside = target.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
                        let target = inside.ok_or_else(|| {
                            format!("its reference `{target}` does not point to a place inside it")
                        })?;
                        unfold(target, root, depth + 1, budget)?;
                    }
                    // They count where they are referred to.
                    ("$defs" | "definitions", Value::Object(_)) => {}
                    _ => unfold(value, root, depth + 1, budget)?,
                }
            }
            Ok(())
        }
        Value::Array(values) => values.iter().try_for_each(|value| unfold(value, root, depth + 1, budget)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refusal(schema: &Value) -> String {
        match Schema::parse("the schema", &schema.to_string()) {
            Ok(_) => "accepted".into(),
            Err(error) => error.to_string(),
        }
    }

    fn arguments(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn says_what_does_not_fit_and_where() {
        let schema = json!({
            "type": "object",
            "properties": { "page": { "$ref": "#/$defs/name" }, "n": { "type": "integer" } },
            "required": ["page"],
            "$defs": { "name": { "type": "string", "pattern": "^[a-z]+$" } },
        });
        let schema = Schema::parse("s", &schema.to_string()).unwrap();
        assert_eq!(schema.check(&arguments(json!({ "page": "a", "n": 3 }))), Ok(()));
        assert_eq!(
            schema.check(&arguments(json!({ "page": "A", "n": "3" }))),
            Err("/n: \"3\" is not of type \"integer\"; /page: \"A\" does not match \"^[a-z]+$\"".into())
        );
        assert_eq!(schema.check(&arguments(json!({}))), Err("\"page\" is a required property".into()));
    }

    #[test]
    fn refuses_what_is_not_a_schema_of_an_object() {
        for schema in
            [json!([]), json!({ "type": "string" }), json!({ "type": 3 }), json!({ "minimum": "x" })]
        {
            assert_ne!(refusal(&schema), "accepted", "{schema}");
        }
        assert_eq!(refusal(&json!({})), "accepted");
    }

    #[test]
    fn references_are_bounded() {
        let outside = json!({ "$ref": "https://example.org/schema" });
        assert!(refusal(&outside).contains("does not point to a place inside it"));
        let itself = json!({ "properties": { "a": { "$ref": "#" } } });
        assert!(refusal(&itself).contains("or refers to itself"));
        assert!(refusal(&json!({ "$ref": "#" })).contains("or refers to itself"));
        let mut bomb = json!({ "$defs": { "d0": { "type": "string" } }, "$ref": "#/$defs/d20" });
        for level in 1..=20 {
            let below = json!({ "$ref": format!("#/$defs/d{}", level - 1) });
            bomb["$defs"][format!("d{level}")] = json!({ "allOf": [below, below] });
        }
        assert!(refusal(&bomb).contains("unfold to more than"));
    }
}
