//! The JSON Schema of the document: one for the check, one with everything an editor can use.

use crate::{
    Configuration, Kind, SchemaError, ValueSchema,
    catalogue::FSM,
    check::machines::{MAY_SAY_NOTHING, WORKER_KEYS, nothing},
};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, sync::LazyLock};

/// The keys that every agent needs which takes turns, and that a machine cannot have.
pub(crate) const WORKER_REQUIRES: [&str; 2] = ["model", "prompt"];

/// What every document is checked against.
pub(crate) static DOCUMENT: LazyLock<Result<ValueSchema, SchemaError>> =
    LazyLock::new(|| ValueSchema::new(&schema_of::<Configuration>()));

/// The JSON Schema (2020-12) of a configuration, for editors, with the params and features of these kinds.
pub fn schema(kinds: &BTreeMap<String, Kind>) -> Value {
    let mut schema = schema_of::<Configuration>();
    let rules: Vec<Value> = kinds.values().map(rule_for).collect();
    let ids: Vec<&str> = kinds.keys().map(String::as_str).collect();
    if let Some(Value::Object(capability)) = schema.pointer_mut("/$defs/Capability") {
        if !rules.is_empty() {
            capability.insert("allOf".into(), rules.into());
        }
        if let Some(Value::Object(id)) = capability.get_mut("properties").and_then(|p| p.get_mut("id")) {
            id.insert("examples".into(), ids.into());
        }
    }
    if let Some(Value::Object(profile)) = schema.pointer_mut("/$defs/Profile") {
        profile.extend(rule_for_machines());
    }
    schema
}

/// What a machine leaves to the agents of its states, and they need. The check itself tells both apart, and says why.
fn rule_for_machines() -> Map<String, Value> {
    let forbidden = WORKER_KEYS.iter().map(|(key, _)| {
        let allowed = match MAY_SAY_NOTHING.contains(key) {
            true => json!({ "enum": nothing() }),
            false => Value::Bool(false),
        };
        ((*key).to_owned(), allowed)
    });
    let mut properties: Map<String, Value> = forbidden.collect();
    let is_machine = json!({ "properties": { "id": { "const": FSM } } });
    let is_off = json!({ "properties": { "enabled": { "const": false } } });
    properties.insert("capabilities".into(), json!({ "items": { "if": is_machine, "else": is_off } }));
    let enabled = json!({
        "properties": { "id": { "const": FSM }, "enabled": { "const": true } },
        "required": ["id", "enabled"],
    });
    Map::from_iter([
        (
            "if".into(),
            json!({
                "properties": { "capabilities": { "contains": enabled } },
                "required": ["capabilities"],
            }),
        ),
        ("then".into(), json!({ "properties": properties })),
        ("else".into(), json!({ "required": WORKER_REQUIRES })),
    ])
}

/// What a capability of this kind may hold.
fn rule_for(kind: &Kind) -> Value {
    // References in a kind's schema point into that schema, so they are replaced before it moves.
    let params = match ValueSchema::for_params(&kind.params) {
        Ok(params) => params.schema().clone(),
        Err(_) => json!({ "type": "object" }),
    };
    let features: Map<String, Value> = kind
        .features
        .iter()
        .map(|feature| {
            let schema =
                json!({ "type": "boolean", "description": feature.description, "default": feature.enabled });
            (feature.name.clone(), schema)
        })
        .collect();
    json!({
        "if": { "properties": { "id": { "const": kind.kind } }, "required": ["id"] },
        "then": { "properties": {
            "params": params,
            "features": { "properties": features, "additionalProperties": false },
        } },
    })
}

/// The JSON Schema of a type of the document. An optional key is absent or has its value: `null` is neither.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value();
    forbid_null(&mut schema);
    schema
}

fn forbid_null(schema: &mut Value) {
    match schema {
        Value::Array(list) => list.iter_mut().for_each(forbid_null),
        Value::Object(map) => {
            if let Some(Value::Array(types)) = map.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = &types[..] {
                    let only = only.clone();
                    map.insert("type".into(), only);
                }
            }
            if let Some(Value::Array(options)) = map.get_mut("anyOf") {
                options.retain(|option| option != &json!({ "type": "null" }));
                if let [Value::Object(only)] = &options[..] {
                    let only = only.clone();
                    map.remove("anyOf");
                    for (key, value) in only {
                        map.entry(key).or_insert(value);
                    }
                }
            }
            map.values_mut().for_each(forbid_null);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_of_the_document_is_one_and_describes_every_key() {
        let Ok(document) = &*DOCUMENT else { panic!("{:?}", DOCUMENT.as_ref().err()) };
        let mut undescribed = Vec::new();
        collect(document.schema(), "", &mut undescribed);
        assert_eq!(undescribed, Vec::<String>::new());
    }

    fn collect(schema: &Value, at: &str, undescribed: &mut Vec<String>) {
        assert!(schema.get("anyOf").is_none(), "{at}: a refusal could not say which of them was meant");
        for (key, inner) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let at = format!("{at}/{key}");
            if inner.get("description").and_then(Value::as_str).is_none() {
                undescribed.push(at.clone());
            }
            collect(inner, &at, undescribed);
        }
        for key in ["items", "additionalProperties"] {
            if let Some(inner @ Value::Object(_)) = schema.get(key) {
                collect(inner, &format!("{at}/{key}"), undescribed);
            }
        }
    }
}
