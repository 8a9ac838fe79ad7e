//! The exports of the world `module`.

#![cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "only the exports use it"))]
#![allow(unsafe_code, reason = "a static that a test overwrites has to be read as it is")]

use crate::misdeed::{Arm, At, How, aliases, bytes, describing, text, trap};
use gg_world_module::{
    exports::gg::module::{calls, lifecycle, view},
    gg::module::types::{CallError, CallSpec, Context, Descriptor, Error, Note, Reply, Section},
};
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};

/// Found in the component's bytes and overwritten by whoever wants one of another kind.
#[used]
static KIND: [u8; 29] = *b"hostile-kind=hostile         ";

fn kind() -> String {
    // SAFETY: a static may always be read; volatile, because the optimizer must not assume its bytes.
    let bytes = unsafe { std::ptr::read_volatile(&raw const KIND) };
    String::from_utf8_lossy(&bytes).rsplit('=').next().unwrap_or_default().trim().to_owned()
}

struct Hostile;

thread_local! {
    static ARM: Cell<Arm> = const { Cell::new(Arm { at: At::None, how: How::Error }) };
    /// What it was given to keep.
    static KEPT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// All that it holds.
#[derive(Serialize, Deserialize)]
struct State {
    #[serde(flatten)]
    arm: Arm,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    kept: String,
}

/// What `arm` and `strike` take.
#[derive(Deserialize)]
struct Arguments {
    #[serde(default)]
    at: At,
    #[serde(default)]
    how: How,
    /// What `keep` takes.
    #[serde(default)]
    what: String,
}

fn error(how: How) -> Error {
    Error::Other(text(how))
}

/// Misbehaves here if armed so; a hook that only answers errors has no other way to.
fn hook(at: At) -> Result<(), Error> {
    match ARM.get().strikes(at) {
        Some(how) => Err(error(how)),
        None => Ok(()),
    }
}

impl lifecycle::Guest for Hostile {
    fn describe() -> Descriptor {
        let how = describing();
        if how == Some(How::Error) {
            trap();
        }
        let spec = |name: &str, parameters: &str, effect: &str| CallSpec {
            name: name.into(),
            description: "For tests.".into(),
            parameters: parameters.into(),
            effect: effect.into(),
            feature: None,
        };
        let both = r#"{"type":"object","properties":{"at":{"type":"string"},"how":{"type":"string"}}}"#;
        let params = r#"{"type":"object","properties":{"at":{"type":"string"},"how":{"type":"string"},
            "scope":{"type":"string"}}}"#;
        let mut calls = vec![
            spec("arm", both, "acting"),
            spec("strike", both, "acting"),
            spec("keep", r#"{"type":"object","properties":{"what":{"type":"string"}}}"#, "acting"),
            spec("look", r#"{"type":"object"}"#, "read-only"),
        ];
        if how == Some(How::Huge) {
            calls = aliases()
                .into_iter()
                .map(|description| CallSpec { description, ..spec("x", "{}", "acting") })
                .collect();
        }
        Descriptor {
            kind: if how == Some(How::Unstable) { "another".into() } else { kind() },
            title: match how {
                Some(how @ (How::Wild | How::BadUtf8)) => text(how),
                _ => "Hostile".into(),
            },
            calls,
            params: if how == Some(How::BadJson) { "{".into() } else { params.into() },
            features: Vec::new(),
            state_format: "gg.hostile/1".into(),
        }
    }

    fn open(settings: String) -> Result<(), Error> {
        ARM.set(Arm::from_settings(&settings));
        KEPT.take();
        hook(At::Open)
    }

    fn clone() -> Result<Vec<u8>, Error> {
        let arm = ARM.get();
        let state = State { arm, kept: KEPT.with_borrow(Clone::clone) };
        let state = serde_json::to_vec(&state).map_err(|error| Error::Other(error.to_string()))?;
        match arm.strikes(At::Clone) {
            None => Ok(state),
            Some(how @ (How::Huge | How::Wild | How::BadUtf8)) => Ok(bytes(how)),
            Some(how @ How::Unstable) => Ok([bytes(how), state].concat()),
            Some(how) => Err(error(how)),
        }
    }

    fn restore(state: Vec<u8>) -> Result<(), Error> {
        let state: State = serde_json::from_slice(&state).map_err(|error| Error::State(error.to_string()))?;
        ARM.set(state.arm);
        KEPT.set(state.kept);
        hook(At::Restore)
    }

    fn transfer(settings: String) -> Result<(), Error> {
        let arm = Arm::from_settings(&settings);
        if let Some(how) = arm.strikes(At::Transfer) {
            return Err(error(how));
        }
        hook(At::Transfer)?;
        ARM.set(arm);
        Ok(())
    }

    fn reset() -> Result<(), Error> {
        hook(At::Reset)?;
        ARM.set(Arm::default());
        KEPT.take();
        Ok(())
    }
}

impl calls::Guest for Hostile {
    fn call(_: Context, name: String, arguments: String) -> Result<Reply, CallError> {
        let asked: Arguments =
            serde_json::from_str(&arguments).map_err(|error| CallError::Refused(error.to_string()))?;
        let how = match name.as_str() {
            "arm" => {
                ARM.set(Arm { at: asked.at, how: asked.how });
                None
            }
            "strike" => Some(asked.how.strike()),
            "keep" => {
                KEPT.set(asked.what);
                None
            }
            _ => ARM.get().strikes(At::Call),
        };
        let reply = |value: String| Ok(Reply { value, notices: Vec::new() });
        match how {
            None => {
                let kept = KEPT.with_borrow(|kept| format!("as you wish {kept}"));
                reply(serde_json::Value::String(kept.trim_end().into()).to_string())
            }
            Some(How::Huge) => Ok(Reply { value: "0".into(), notices: aliases() }),
            Some(How::BadJson) => reply("{\"cut\": ".into()),
            Some(how @ (How::Wild | How::BadUtf8)) => reply(text(how)),
            Some(how @ How::Refuse) => Err(CallError::Refused(text(how))),
            Some(how) => Err(CallError::Failed(text(how))),
        }
    }
}

impl view::Guest for Hostile {
    fn prompt(_: Context) -> Vec<Section> {
        let section = |body: String| Section { title: "Hostile".into(), body };
        match ARM.get().strikes(At::Prompt) {
            None => vec![section("A module for tests.".into())],
            Some(How::Huge) => aliases().into_iter().map(section).collect(),
            Some(how @ (How::Wild | How::BadUtf8)) => vec![section(text(how))],
            Some(_) => trap(),
        }
    }

    fn opening(_: Context) -> Vec<Note> {
        let note = |body: String| Note { title: "Hostile".into(), body };
        match ARM.get().strikes(At::Opening) {
            None => Vec::new(),
            Some(How::Huge) => aliases().into_iter().map(note).collect(),
            Some(how @ (How::Wild | How::BadUtf8)) => vec![note(text(how))],
            Some(_) => trap(),
        }
    }
}

#[cfg(target_arch = "wasm32")]
#[allow(unsafe_code, reason = "generated: the canonical ABI hands over pointers")]
const _: () = {
    gg_world_module::export_world!(Hostile with_types_in gg_world_module);
};
