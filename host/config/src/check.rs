//! The launch check: one pure function from the document and a catalogue to every refusal there is.

mod agents;
mod build;
mod capabilities;
mod cast;
mod components;
mod delegation;
mod hooks;
pub(crate) mod machines;
mod providers;
mod succession;

use crate::{
    Catalogue, Code, Configuration, Fault, FaultKind, Kind, Mark, Refusal, SchemaError, Source, ValueSchema,
    format, nearest, refusal, schema::DOCUMENT, source::escape, value_schema::list,
};
use cast::Cast;
use serde_json::{Map, Value};
use std::{collections::BTreeMap, rc::Rc};

/// Checks a document against what exists.
///
/// # Errors
/// Every refusal, in the order of the text. It never stops at the first, and leaves out only what could not be
/// judged before another refusal is settled.
pub fn check(source: &Source, catalogue: &Catalogue) -> Result<Configuration, Vec<Refusal>> {
    let mut check = Check::new(source, catalogue);
    check.shape();
    check.built_in();
    check.providers();
    check.components();
    check.agents();
    check.max_depth();
    check.budgets();
    if check.refusals.is_empty() {
        match build::configuration(source, catalogue) {
            Ok(configuration) => return Ok(configuration),
            // The schema is made from the very types that are read here, so only a flaw of gg leads here.
            Err(error) => check.refuse(
                Code::WrongType,
                "",
                Mark::Value,
                format!("the configuration cannot be read: {error}"),
                FLAW_HELP.into(),
            ),
        }
    }
    refusal::sort(&mut check.refusals);
    Err(check.refusals)
}

/// A kind and its params' schema, ready to check with.
struct Known<'a> {
    kind: &'a Kind,
    params: Result<ValueSchema, SchemaError>,
}

impl<'a> Known<'a> {
    fn new(kind: &'a Kind) -> Self {
        Self { kind, params: ValueSchema::for_params(&kind.params) }
    }
}

struct Check<'a> {
    source: &'a Source,
    catalogue: &'a Catalogue,
    /// What is built in, by id.
    kinds: BTreeMap<&'a str, Rc<Known<'a>>>,
    /// The components that can be used, by their name in the document.
    components: BTreeMap<&'a str, Rc<Known<'a>>>,
    cast: Cast<'a>,
    refusals: Vec<Refusal>,
}

impl<'a> Check<'a> {
    fn new(source: &'a Source, catalogue: &'a Catalogue) -> Self {
        let known = |(name, kind): (&'a String, &'a Kind)| (name.as_str(), Rc::new(Known::new(kind)));
        let usable = catalogue.components.iter().filter_map(|(name, kind)| Some((name, kind.as_ref().ok()?)));
        Self {
            source,
            catalogue,
            kinds: catalogue.kinds.iter().map(known).collect(),
            components: usable.map(known).collect(),
            cast: Cast::of(&At { value: source.value(), pointer: String::new() }),
            refusals: source.early().to_vec(),
        }
    }

    fn root(&self) -> At<'a> {
        At { value: self.source.value(), pointer: String::new() }
    }

    fn refuse(&mut self, code: Code, pointer: &str, mark: Mark, message: String, help: String) {
        self.refusals.push(self.source.refusal(code, pointer.to_owned(), mark, message, help));
    }

    /// Refuses a name that is none of `known`, naming the nearest.
    fn refuse_unknown<'k>(
        &mut self,
        code: Code,
        pointer: &str,
        mark: Mark,
        message: String,
        name: &str,
        known: impl IntoIterator<Item = &'k str>,
    ) {
        let known: Vec<&str> = known.into_iter().collect();
        let help = match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean {near:?}?"),
            None => list(&known),
        };
        self.refuse(code, pointer, mark, message, help);
    }

    /// A built-in capability whose params cannot be checked is a flaw of gg, and no reason to let params pass.
    fn built_in(&mut self) {
        for (id, known) in self.kinds.clone() {
            if let Err(error) = &known.params {
                let message = format!("the params of the built-in {id:?} cannot be checked: {error}");
                self.refuse(Code::ComponentMisfit, "", Mark::Value, message, FLAW_HELP.into());
            }
        }
    }

    /// What the schema alone can say: keys, types, ranges, forms.
    fn shape(&mut self) {
        let document = match &*DOCUMENT {
            Ok(document) => document,
            Err(error) => {
                return self.refuse(Code::Unsupported, "", Mark::Value, error.to_string(), FLAW_HELP.into());
            }
        };
        for fault in document.check(self.source.value()) {
            let code = code_of(&fault);
            let Fault { pointer, mark, message, help, .. } = fault;
            if code == Code::SecretInFile {
                self.secret(&pointer, mark);
            } else if !self.is_moot(&pointer) {
                self.refuse(code, &pointer, mark, message, help);
            }
        }
    }

    /// Refuses a key that looks like a secret's.
    fn secret(&mut self, pointer: &str, mark: Mark) {
        let message = "a secret stands in the configuration".into();
        self.refuse(Code::SecretInFile, pointer, mark, message, SECRET_HELP.into());
    }
}

const FLAW_HELP: &str = "this is a flaw of gg; please report it";

const SECRET_HELP: &str = "put it into an environment variable and name that in \"apiKeyEnv\"; gg sends it in the header that the api wants";

fn code_of(fault: &Fault) -> Code {
    match &fault.kind {
        FaultKind::UnknownKey(key) if is_secret_key(key) => Code::SecretInFile,
        FaultKind::UnknownKey(_) => Code::UnknownKey,
        FaultKind::Missing(_) => Code::MissingValue,
        FaultKind::Type | FaultKind::Other => Code::WrongType,
        FaultKind::Unlisted => Code::UnknownValue,
        FaultKind::Range => Code::OutOfRange,
        FaultKind::Exceeds => Code::ContradictoryLimits,
        FaultKind::Empty => Code::EmptyValue,
        FaultKind::Pattern(pattern) => match pattern.as_str() {
            format::SHA256 => Code::ComponentDigest,
            format::HEADER_NAME | format::HEADER_VALUE => Code::BadHeader,
            _ => Code::BadId,
        },
    }
}

fn is_secret_key(key: &str) -> bool {
    let plain: String =
        key.chars().filter(char::is_ascii_alphabetic).map(|c| c.to_ascii_lowercase()).collect();
    matches!(
        plain.as_str(),
        "apikey"
            | "key"
            | "token"
            | "apitoken"
            | "accesstoken"
            | "bearer"
            | "bearertoken"
            | "auth"
            | "authorization"
            | "secret"
            | "apisecret"
            | "password"
    )
}

/// A value of the document and where it stands. A value of another type than asked for is as good as absent:
/// its shape has been refused already.
#[derive(Clone)]
struct At<'a> {
    value: &'a Value,
    pointer: String,
}

impl<'a> At<'a> {
    fn get(&self, key: &str) -> Option<At<'a>> {
        let value = self.value.as_object()?.get(key)?;
        Some(At { value, pointer: format!("{}/{}", self.pointer, escape(key)) })
    }

    /// A text that is not blank.
    fn text(&self, key: &str) -> Option<(&'a str, String)> {
        let At { value, pointer } = self.get(key)?;
        Some((value.as_str().filter(|text| !text.trim().is_empty())?, pointer))
    }

    fn whole(&self, key: &str) -> Option<(u64, String)> {
        let At { value, pointer } = self.get(key)?;
        Some((value.as_u64()?, pointer))
    }

    fn map(&self, key: &str) -> Option<&'a Map<String, Value>> {
        self.value.as_object()?.get(key)?.as_object()
    }

    /// The entries of the object at `key`; none if there is no object.
    fn entries(&self, key: &str) -> Vec<(&'a str, At<'a>)> {
        let Some(map) = self.map(key) else { return Vec::new() };
        let at = |name: &str| format!("{}/{}/{}", self.pointer, escape(key), escape(name));
        map.iter().map(|(name, value)| (name.as_str(), At { value, pointer: at(name) })).collect()
    }

    /// The items of the list at `key`; none if there is no list.
    fn items(&self, key: &str) -> Vec<At<'a>> {
        let Some(list) = self.get(key).and_then(|list| list.value.as_array()) else { return Vec::new() };
        let at = |index: usize| format!("{}/{}/{index}", self.pointer, escape(key));
        list.iter().enumerate().map(|(index, value)| At { value, pointer: at(index) }).collect()
    }
}

#[cfg(test)]
mod tests;
