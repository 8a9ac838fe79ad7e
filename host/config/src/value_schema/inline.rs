//! Replaces the references of a schema by what they refer to.

use super::SchemaError;
use gg_core::text;
use serde_json::{Map, Value};

/// The most nodes of a schema after its references are replaced. The whole document's schema has a few hundred.
pub(super) const MAX_NODES: usize = 20_000;

/// The deepest nesting of a schema after its references are replaced.
pub(super) const MAX_DEPTH: usize = 64;

/// `schema` with each reference replaced by what it refers to.
pub(super) fn inline(schema: &Value) -> Result<Value, SchemaError> {
    Inliner { root: schema, nodes: 0 }.schema(schema, 0)
}

struct Inliner<'a> {
    root: &'a Value,
    nodes: usize,
}

impl Inliner<'_> {
    fn count(&mut self, depth: usize) -> Result<(), SchemaError> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(SchemaError::TooLarge);
        }
        if depth > MAX_DEPTH {
            return Err(SchemaError::TooDeep);
        }
        Ok(())
    }

    fn schema(&mut self, schema: &Value, depth: usize) -> Result<Value, SchemaError> {
        self.count(depth)?;
        let Value::Object(map) = schema else { return Ok(schema.clone()) };
        let mut out = Map::new();
        for (key, value) in map {
            match key.as_str() {
                "$ref" => {}
                "$id" | "$anchor" | "$dynamicRef" | "$dynamicAnchor" | "$recursiveRef" => {
                    let target = value.as_str().unwrap_or(key);
                    return Err(SchemaError::Reference(text::glance(target, 80)));
                }
                // Every schema is read as 2020-12, and definitions stand where they were referred to.
                "$schema" | "$defs" | "definitions" => {}
                "const" | "enum" | "default" | "examples" => {
                    out.insert(key.clone(), value.clone());
                }
                "properties" | "patternProperties" | "dependentSchemas" => {
                    out.insert(key.clone(), self.map(value, depth + 1)?);
                }
                _ => {
                    out.insert(key.clone(), self.keyword(value, depth + 1)?);
                }
            }
        }
        // Without "properties" the validator would say that nothing may stand there, not which key it was.
        if out.get("additionalProperties") == Some(&Value::Bool(false)) {
            out.entry("properties").or_insert_with(|| Value::Object(Map::new()));
        }
        let Some(reference) = map.get("$ref") else { return Ok(Value::Object(out)) };
        let target = reference
            .as_str()
            .and_then(|text| text.strip_prefix('#'))
            .and_then(|pointer| self.root.pointer(pointer))
            .ok_or_else(|| SchemaError::Reference(text::glance(&reference.to_string(), 80)))?;
        match self.schema(target, depth + 1)? {
            // Words about the reference win over words about its target; constraints of both hold.
            Value::Object(mut target) if out.keys().all(|key| is_annotation(key)) => {
                target.extend(out);
                Ok(Value::Object(target))
            }
            target => {
                let mut all = match out.remove("allOf") {
                    Some(Value::Array(all)) => all,
                    _ => Vec::new(),
                };
                all.push(target);
                out.insert("allOf".into(), Value::Array(all));
                Ok(Value::Object(out))
            }
        }
    }

    fn map(&mut self, value: &Value, depth: usize) -> Result<Value, SchemaError> {
        let Value::Object(map) = value else { return Ok(value.clone()) };
        let inlined = map.iter().map(|(key, schema)| Ok((key.clone(), self.schema(schema, depth)?)));
        Ok(Value::Object(inlined.collect::<Result<_, SchemaError>>()?))
    }

    fn keyword(&mut self, value: &Value, depth: usize) -> Result<Value, SchemaError> {
        match value {
            Value::Array(list) => {
                let inlined = list.iter().map(|schema| self.schema(schema, depth));
                Ok(Value::Array(inlined.collect::<Result<_, _>>()?))
            }
            _ => self.schema(value, depth),
        }
    }
}

fn is_annotation(key: &str) -> bool {
    matches!(key, "title" | "description" | "default" | "examples" | "deprecated" | "readOnly" | "writeOnly")
}
