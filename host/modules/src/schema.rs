//! The JSON Schemas that components bring along: which ones gg accepts, and the check of arguments.
//!
//! A schema is a stranger's program for the host's validator. [`ValueSchema`] bounds it like one; what is added
//! here is that it describes an object and is short enough for a model to read.

use crate::error::DescriptorError;
use gg_config::ValueSchema;
use gg_core::text;
use serde_json::{Map, Value};

/// The longest schema, in bytes: far more than a model would read.
pub(crate) const SCHEMA_BYTES: usize = 64 * 1024;

/// The most that is said about arguments that do not fit.
const MAX_COMPLAINTS: usize = 5;

/// The longest single complaint, in bytes.
const COMPLAINT_BYTES: usize = 500;

/// Arguments' schema, ready to check with.
pub(crate) struct Schema {
    value: Value,
    ready: ValueSchema,
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
        let ready = ValueSchema::new(&value).map_err(|error| refuse(error.to_string()))?;
        Ok(Self { value, ready })
    }

    /// The schema itself.
    pub(crate) fn value(&self) -> &Value {
        &self.value
    }

    /// Checks arguments; the error is for the model to read.
    pub(crate) fn check(&self, arguments: &Map<String, Value>) -> Result<(), String> {
        let faults = self.ready.check(&Value::Object(arguments.clone()));
        if faults.is_empty() {
            return Ok(());
        }
        let complaints: Vec<String> = faults.iter().take(MAX_COMPLAINTS).map(ToString::to_string).collect();
        Err(complaints.join("; "))
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
        let said = schema.check(&arguments(json!({ "page": "A", "n": "3" }))).unwrap_err();
        assert!(said.contains("/n: ") && said.contains("/page: "), "{said}");
        let said = schema.check(&arguments(json!({}))).unwrap_err();
        assert!(said.contains("\"page\" is missing"), "{said}");
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
        assert!(refusal(&outside).contains("only JSON pointers within it"));
        let itself = json!({ "properties": { "a": { "$ref": "#" } } });
        assert!(refusal(&itself).contains("may not refer to itself"));
        let mut bomb = json!({ "$defs": { "d0": { "type": "string" } }, "$ref": "#/$defs/d20" });
        for level in 1..=20 {
            let below = json!({ "$ref": format!("#/$defs/d{}", level - 1) });
            bomb["$defs"][format!("d{level}")] = json!({ "allOf": [below, below] });
        }
        assert_ne!(refusal(&bomb), "accepted");
    }
}
