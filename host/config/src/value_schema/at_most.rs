//! `x-atMost`: a limit that another value of the same object sets, which JSON Schema itself cannot say.

use super::{Fault, FaultKind, Mark};
use crate::source::escape;
use serde_json::Value;

/// In the schema of a number: the name of a number beside it that it may not exceed. Where one of the two is
/// absent, its `default` counts.
const AT_MOST: &str = "x-atMost";

/// Adds a fault for each number in `value` that exceeds the one its schema names.
pub(super) fn check(schema: &Value, value: &Value, pointer: &str, faults: &mut Vec<Fault>) {
    let properties = schema.get("properties").and_then(Value::as_object);
    let (Some(properties), Some(value)) = (properties, value.as_object()) else { return };
    let number = |name: &str| {
        let default = || properties.get(name)?.get("default");
        value.get(name).or_else(default).and_then(Value::as_f64)
    };
    for (name, inner) in properties {
        let at = |name: &str| format!("{pointer}/{}", escape(name));
        let limit = inner.get(AT_MOST).and_then(Value::as_str);
        if let Some((limit, this, most)) =
            limit.and_then(|limit| Some((limit, number(name)?, number(limit)?)))
            && this > most
        {
            // Whichever of the two was written is the one to change.
            let written = [name.as_str(), limit].into_iter().find(|name| value.contains_key(*name));
            if let Some(written) = written {
                faults.push(Fault {
                    kind: FaultKind::Exceeds,
                    pointer: at(written),
                    mark: Mark::Value,
                    message: format!("{name} is {this}, more than {limit}, which is {most}"),
                    help: format!("make {name} at most {limit}"),
                });
            }
        }
        if let Some(value) = value.get(name) {
            check(inner, value, &at(name), faults);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_number_may_not_exceed_the_one_beside_it() {
        let schema = json!({ "properties": { "inner": { "properties": {
            "page": { "type": "integer", "default": 10, "x-atMost": "whole" },
            "whole": { "type": "integer", "default": 100 },
        } } } });
        let check = |value: Value| {
            let mut faults = Vec::new();
            super::check(&schema, &value, "", &mut faults);
            faults.into_iter().map(|fault| (fault.pointer, fault.message)).collect::<Vec<_>>()
        };
        let fault = |at: &str, message: &str| vec![(at.to_owned(), message.to_owned())];
        assert_eq!(check(json!({ "inner": { "page": 100 } })), []);
        assert_eq!(check(json!({ "inner": {} })), []);
        assert_eq!(
            check(json!({ "inner": { "page": 101 } })),
            fault("/inner/page", "page is 101, more than whole, which is 100")
        );
        assert_eq!(
            check(json!({ "inner": { "whole": 9 } })),
            fault("/inner/whole", "page is 10, more than whole, which is 9")
        );
        assert_eq!(check(json!({ "inner": { "page": "11", "whole": 9 } })), []);
    }
}
