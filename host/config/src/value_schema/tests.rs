use super::*;
use serde_json::{Map, json};

fn said(schema: Value, value: Value) -> Vec<(FaultKind, String, String, String)> {
    let faults = ValueSchema::new(&schema).unwrap().check(&value);
    faults.into_iter().map(|f| (f.kind, f.pointer, f.message, f.help)).collect()
}

#[test]
fn says_everything_that_is_wrong() {
    let schema = json!({
        "type": "object",
        "properties": {
            "count": { "type": "integer", "minimum": 1, "maximum": 9, "description": "How many.\n\nMore words." },
            "mode": { "oneOf": [{ "const": "fast" }, { "const": "slow" }] },
            "names": { "type": "array", "minItems": 1, "items": { "type": "string", "pattern": "^[a-z]+$" } },
        },
        "required": ["count", "names"],
        "additionalProperties": false,
    });
    assert_eq!(said(schema.clone(), json!({ "count": 3, "names": ["a"], "mode": "slow" })), []);
    let mut wrong = said(schema.clone(), json!({ "cuont": 1, "mode": "fats", "names": ["a", "B", 3] }));
    wrong.sort_by(|a, b| a.1.cmp(&b.1));
    let texts = |kind, at: &str, message: &str, help: &str| (kind, at.into(), message.into(), help.into());
    assert_eq!(
        wrong,
        [
            texts(FaultKind::Missing("count".into()), "", "\"count\" is missing", "add \"count\": How many."),
            texts(
                FaultKind::UnknownKey("cuont".into()),
                "/cuont",
                "unknown key \"cuont\"",
                "did you mean \"count\"?"
            ),
            texts(FaultKind::Unlisted, "/mode", "\"mode\" cannot be \"fats\"", "did you mean \"fast\"?"),
            texts(
                FaultKind::Pattern("^[a-z]+$".into()),
                "/names/1",
                "this entry has not the form ^[a-z]+$",
                ""
            ),
            texts(FaultKind::Type, "/names/2", "this entry takes a text, not a whole number", ""),
        ]
    );
    assert_eq!(
        said(schema, json!({ "count": 10, "names": [] })),
        [
            texts(FaultKind::Range, "/count", "\"count\" is above 9, the most allowed", "How many."),
            texts(FaultKind::Empty, "/names", "\"names\" is empty", ""),
        ]
    );
}

#[test]
fn references_are_replaced_within_bounds() {
    let schema = json!({
        "properties": {
            "$ref": { "$ref": "#/$defs/small", "description": "Mine." },
            "default": { "$ref": "#/$defs/small", "minimum": 1 },
        },
        "$defs": { "small": { "type": "integer", "maximum": 3, "description": "Theirs." } },
    });
    let ready = ValueSchema::new(&schema).unwrap();
    assert_eq!(
        ready.schema(),
        &json!({ "properties": {
            "$ref": { "type": "integer", "maximum": 3, "description": "Mine." },
            "default": {
                "minimum": 1, "allOf": [{ "type": "integer", "maximum": 3, "description": "Theirs." }]
            },
        } })
    );
    assert_eq!(ready.check(&json!({ "$ref": 4, "default": 0 })).len(), 2);
}

#[test]
fn schemas_that_could_harm_are_refused() {
    let error = |schema: Value| ValueSchema::new(&schema).unwrap_err();
    assert_eq!(error(json!({ "$ref": "#" })), SchemaError::TooDeep);
    assert_eq!(error(json!({ "allOf": [{ "$ref": "#" }, { "$ref": "#" }] })), SchemaError::TooDeep);
    assert_eq!(
        error(json!({ "$ref": "http://elsewhere/x" })),
        SchemaError::Reference("\"http://elsewhere/x\"".into())
    );
    assert_eq!(error(json!({ "$ref": "#/$defs/none" })), SchemaError::Reference("\"#/$defs/none\"".into()));
    assert_eq!(error(json!({ "$dynamicRef": "#x" })), SchemaError::Reference("#x".into()));
    assert!(matches!(error(json!({ "type": "strange" })), SchemaError::Invalid(_)));
    assert!(matches!(error(json!([])), SchemaError::Invalid(_)));
    assert!(matches!(error(json!({ "pattern": "(" })), SchemaError::Invalid(_)));
    assert!(matches!(error(json!({ "pattern": "((a{99}){99}){99}" })), SchemaError::Invalid(_)));

    let mut defs = Map::new();
    for level in 0..30 {
        let next = json!({ "$ref": format!("#/$defs/d{}", level + 1) });
        defs.insert(format!("d{level}"), json!({ "anyOf": [next, next] }));
    }
    defs.insert("d30".into(), json!({}));
    assert_eq!(error(json!({ "$ref": "#/$defs/d0", "$defs": defs })), SchemaError::TooLarge);
}

#[test]
fn params_are_closed_unless_the_schema_opens_them() {
    let check = |schema: Value| ValueSchema::for_params(&schema).unwrap().check(&json!({ "x": 1 })).len();
    assert_eq!(check(json!({ "properties": { "y": {} } })), 1);
    assert_eq!(check(json!({ "properties": { "y": {} }, "additionalProperties": true })), 0);
    assert_eq!(check(json!({ "patternProperties": { "^x": {} } })), 0);
}

#[test]
fn where_nothing_may_stand_each_key_is_unknown() {
    let ready = ValueSchema::for_params(&json!({ "type": "object", "additionalProperties": false })).unwrap();
    assert_eq!(ready.check(&json!({})), []);
    let said: Vec<String> = ready.check(&json!({ "x": 1, "y": 2 })).iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        ["/x: unknown key \"x\" (nothing can stand here)", "/y: unknown key \"y\" (nothing can stand here)"]
    );
}

#[test]
fn what_one_value_asks_of_another_is_said_in_the_schema_s_words() {
    let schema = json!({
        "properties": { "scope": { "enum": ["own", "shared"] }, "persist": { "type": "boolean" } },
        "if": { "not": { "required": ["scope"], "properties": { "scope": { "const": "shared" } } } },
        "then": { "properties": { "persist": { "const": false, "description": "Only what is shared persists." } } },
    });
    let ready = ValueSchema::for_params(&schema).unwrap();
    let said = |value: Value| ready.check(&value).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(said(json!({ "scope": "shared", "persist": true })), [""; 0]);
    assert_eq!(said(json!({ "scope": "own", "persist": false })), [""; 0]);
    for scope in [json!({ "persist": true }), json!({ "persist": true, "scope": "own" })] {
        assert_eq!(
            said(scope),
            ["/persist: \"persist\" can only be false here (Only what is shared persists.)"]
        );
    }
}
