//! Tells the calls of a reply apart and puts each together. Servers number fragments well, badly or not at
//! all; an id, a name and finished arguments tell the rest.

use super::shapes::Fragment;
use crate::{
    error::ModelError,
    wire::reply::{MAX_CALLS, RawCall, Trust},
};
use serde_json::{Map, Value};

/// The calls of a reply, as far as they have come in.
#[derive(Debug, Default)]
pub(crate) struct Fragments {
    calls: Vec<(Option<u64>, RawCall)>,
}

impl Fragments {
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Takes one fragment; says how many bytes it held.
    pub(crate) fn add(&mut self, fragment: Fragment) -> Result<usize, ModelError> {
        let function = fragment.function.unwrap_or_default();
        let id = match fragment.id {
            Some(Value::String(id)) if !id.is_empty() => Some(id),
            Some(Value::Number(number)) => Some(number.to_string()),
            _ => None,
        };
        let name = function.name.unwrap_or_default();
        let arguments = match function.arguments {
            Some(Value::String(text)) => text,
            None | Some(Value::Null) => String::new(),
            Some(other) => other.to_string(),
        };
        let bytes = id.as_ref().map_or(0, String::len) + name.len() + arguments.len();
        if bytes == 0 {
            return Ok(0);
        }
        match self.place(fragment.index, id.as_deref(), &name, &arguments) {
            Place::Restated => {}
            Place::Known(at) => {
                let call = &mut self.calls[at].1;
                call.id = call.id.take().or(id);
                if call.name.is_empty() {
                    call.name = name;
                }
                call.arguments.push_str(&arguments);
            }
            Place::New => {
                if self.calls.len() == MAX_CALLS {
                    return Err(ModelError::TooLarge { what: "calls", limit: MAX_CALLS });
                }
                self.calls.push((fragment.index, RawCall { id, name, arguments, trust: Trust::AsItReads }));
            }
        }
        Ok(bytes)
    }

    /// Where a fragment belongs: to the latest call of its number, or to a new one.
    fn place(&self, index: Option<u64>, id: Option<&str>, name: &str, arguments: &str) -> Place {
        if index.is_none() && id.is_none() && name.is_empty() && !self.calls.is_empty() {
            return Place::Known(self.calls.len() - 1);
        }
        let Some(at) = self.calls.iter().rposition(|(known, _)| *known == index) else {
            return Place::New;
        };
        let call = &self.calls[at].1;
        let other_id = matches!((id, call.id.as_deref()), (Some(id), Some(known)) if id != known);
        if other_id {
            // Several calls under one number, and their fragments may even be mixed.
            let same =
                self.calls.iter().rposition(|(known, call)| *known == index && call.id.as_deref() == id);
            return same.map_or(Place::New, Place::Known);
        }
        let other_name = !name.is_empty() && !call.name.is_empty() && name != call.name;
        if other_name {
            return Place::New;
        }
        // A name again behind finished arguments: the same call restated, or the next one of the same name.
        // The cheap looks come first: some servers repeat the name with every few bytes of a long argument.
        let begins = !name.is_empty() && arguments.trim_start().starts_with('{');
        if begins && call.arguments.trim_end().ends_with('}') && is_whole(&call.arguments) {
            let restated = id.is_some() && call.arguments == arguments;
            return if restated { Place::Restated } else { Place::New };
        }
        Place::Known(at)
    }

    /// Whether every call's arguments are a finished JSON object. Only then can a reply be trusted that does
    /// not say why it ended.
    pub(crate) fn are_whole(&self) -> bool {
        self.calls.iter().all(|(_, call)| is_whole(&call.arguments))
    }

    /// The calls, in the order in which they began.
    pub(crate) fn into_calls(self) -> impl Iterator<Item = RawCall> {
        self.calls.into_iter().map(|(_, call)| call)
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Place {
    Known(usize),
    New,
    Restated,
}

fn is_whole(arguments: &str) -> bool {
    serde_json::from_str::<Map<String, Value>>(arguments).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn calls(fragments: Value) -> Vec<(Option<String>, String, String)> {
        let mut all = Fragments::default();
        let list: Vec<Fragment> = serde_json::from_value(fragments).expect("fragments");
        for fragment in list {
            all.add(fragment).expect("within the limits");
        }
        all.into_calls().map(|call| (call.id, call.name, call.arguments)).collect()
    }

    fn expect(fragments: Value, expected: &[(Option<&str>, &str, &str)]) {
        let expected: Vec<_> = expected
            .iter()
            .map(|(id, name, args)| (id.map(str::to_owned), (*name).to_owned(), (*args).to_owned()))
            .collect();
        assert_eq!(calls(fragments.clone()), expected, "{fragments}");
    }

    fn fragment(index: Value, id: Value, name: Value, arguments: Value) -> Value {
        json!({ "index": index, "id": id, "function": { "name": name, "arguments": arguments } })
    }

    #[test]
    fn by_number() {
        let null = Value::Null;
        expect(
            json!([
                fragment(0.into(), "a".into(), "x".into(), "".into()),
                fragment(1.into(), "b".into(), "y".into(), "".into()),
                fragment(1.into(), null.clone(), null.clone(), "{\"q\":".into()),
                fragment(0.into(), null.clone(), null.clone(), "{}".into()),
                fragment(1.into(), "".into(), "".into(), "1}".into()),
            ]),
            &[(Some("a"), "x", "{}"), (Some("b"), "y", "{\"q\":1}")],
        );
    }

    #[test]
    fn one_number_for_all() {
        let zero = || Value::from(0);
        let null = || Value::Null;
        // Told apart by their ids, mixed or not.
        expect(
            json!([
                fragment(zero(), "a".into(), "x".into(), "{".into()),
                fragment(zero(), "b".into(), "x".into(), "{".into()),
                fragment(zero(), "a".into(), null(), "}".into()),
                fragment(zero(), "b".into(), null(), "}".into()),
            ]),
            &[(Some("a"), "x", "{}"), (Some("b"), "x", "{}")],
        );
        // Told apart by another name, or by finished arguments.
        expect(
            json!([
                fragment(zero(), null(), "x".into(), "{}".into()),
                fragment(zero(), null(), "x".into(), "{}".into()),
                fragment(zero(), null(), "y".into(), "".into()),
            ]),
            &[(None, "x", "{}"), (None, "x", "{}"), (None, "y", "")],
        );
    }

    #[test]
    fn no_number_at_all() {
        let null = || Value::Null;
        expect(
            json!([
                { "id": "a", "function": { "name": "x", "arguments": "{\"q\"" } },
                { "function": { "arguments": ":1}" } },
                { "id": "b", "function": { "name": "x", "arguments": { "q": 2 } } },
                { "id": 7, "function": { "name": "y" } },
                fragment(null(), null(), null(), null()),
            ]),
            &[(Some("a"), "x", "{\"q\":1}"), (Some("b"), "x", "{\"q\":2}"), (Some("7"), "y", "")],
        );
        // In the first fragment only.
        expect(
            json!([
                fragment(0.into(), "a".into(), "x".into(), "{\"q\"".into()),
                { "function": { "arguments": ":1}" } },
            ]),
            &[(Some("a"), "x", "{\"q\":1}")],
        );
    }

    #[test]
    fn empty_fragments_are_no_calls() {
        expect(json!([{}, fragment(0.into(), "".into(), "".into(), "".into())]), &[]);
    }

    #[test]
    fn repeated_and_restated() {
        let zero = || Value::from(0);
        // The id and name in every fragment, and the whole once more at the end.
        expect(
            json!([
                fragment(zero(), "a".into(), "x".into(), "{\"q\"".into()),
                fragment(zero(), "a".into(), "x".into(), ":1}".into()),
                fragment(zero(), "a".into(), "x".into(), "{\"q\":1}".into()),
                fragment(zero(), "a".into(), "x".into(), "".into()),
            ]),
            &[(Some("a"), "x", "{\"q\":1}")],
        );
        // One id for two calls: their numbers tell.
        expect(
            json!([
                fragment(zero(), "a".into(), "x".into(), "{}".into()),
                fragment(1.into(), "a".into(), "x".into(), "{}".into()),
            ]),
            &[(Some("a"), "x", "{}"), (Some("a"), "x", "{}")],
        );
    }

    #[test]
    fn the_number_of_calls_is_bounded() {
        let mut all = Fragments::default();
        let call = |n: usize| -> Fragment {
            serde_json::from_value(fragment(n.into(), Value::Null, "x".into(), "{}".into()))
                .expect("a fragment")
        };
        for n in 0..MAX_CALLS {
            all.add(call(n)).expect("within the limit");
        }
        let refused = all.add(call(MAX_CALLS)).map(|_| ());
        assert_eq!(refused, Err(ModelError::TooLarge { what: "calls", limit: MAX_CALLS }));
    }
}
