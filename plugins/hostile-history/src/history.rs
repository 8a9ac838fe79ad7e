//! The exports of the world `history`.

#![cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "only the exports use it"))]

use crate::misdeed::{Arm, At, How, aliases, as_large_as_it_gets, bytes, describing, text, trap};
use gg_world_history::{
    exports::gg::module::{calls, lifecycle, view, window},
    gg::module::messages,
};
use gg_world_module::gg::module::types::{
    CallError, CallSpec, Changes, Context, Descriptor, Entry, Error, Feature, Note, Reply, Role, Section,
    Segment, Summary,
};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;

struct Hostile;

/// An entry as it is kept: id, turn, tokens, calls, pinned, role.
type Kept = (u64, u32, u32, u16, bool, u8);

#[derive(Default, Serialize, Deserialize)]
struct State {
    arm: Arm,
    revision: u64,
    entries: Vec<Kept>,
}

/// The agent of a run that [`At::AppendElsewhere`] leaves alone.
const FIRST_AGENT: &str = "a1";

thread_local! {
    static STATE: RefCell<State> = RefCell::new(State { revision: 1, ..State::default() });
}

/// What `arm` and `strike` take.
#[derive(Deserialize)]
struct Arguments {
    #[serde(default)]
    at: At,
    #[serde(default)]
    how: How,
}

/// A message that is never lent.
const NEVER_LENT: u64 = u64::MAX - 7;

fn pack(entry: &Entry) -> Kept {
    let role = match entry.role {
        Role::User => 0,
        Role::Assistant => 1,
        Role::Results => 2,
    };
    (entry.id, entry.turn, entry.tokens, entry.calls, entry.pinned, role)
}

fn unpack(kept: &Kept) -> Entry {
    let (id, turn, tokens, calls, pinned, role) = *kept;
    let role = match role {
        0 => Role::User,
        1 => Role::Assistant,
        _ => Role::Results,
    };
    Entry { id, turn, tokens, calls, pinned, role }
}

/// How to misbehave here. The floods happen at once: they need only the import.
fn strikes(at: At) -> Option<How> {
    STATE.with_borrow(|state| state.arm).strikes(at).map(flood)
}

fn flood(how: How) -> How {
    match how {
        How::FloodNotes => loop {
            let _ = std::hint::black_box(messages::note(&"x".repeat(1 << 20)));
        },
        How::FloodTexts => loop {
            let _ = std::hint::black_box(messages::text(1, u32::MAX));
            let _ = std::hint::black_box(messages::text(NEVER_LENT, u32::MAX));
        },
        other => other,
    }
}

fn error(how: How) -> Error {
    Error::Other(text(how))
}

fn hook(at: At) -> Result<(), Error> {
    match strikes(at) {
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
        let both = r#"{"type":"object","properties":{"at":{"type":"string"},"how":{"type":"string"}}}"#;
        let spec = |name: &str, effect: &str| CallSpec {
            name: name.into(),
            description: "For tests.".into(),
            parameters: both.into(),
            effect: effect.into(),
            feature: None,
        };
        let feature = |description: String| Feature { name: "x".into(), description, enabled: false };
        Descriptor {
            kind: if how == Some(How::Unstable) { "another".into() } else { "history".into() },
            title: match how {
                Some(how @ (How::Wild | How::BadUtf8)) => text(how),
                _ => "Hostile history".into(),
            },
            calls: vec![spec("arm", "acting"), spec("strike", "acting"), spec("look", "read-only")],
            params: if how == Some(How::BadJson) { "{".into() } else { both.into() },
            features: match how {
                Some(How::Huge) => aliases().into_iter().map(feature).collect(),
                _ => Vec::new(),
            },
            state_format: "gg.hostile-history/1".into(),
        }
    }

    fn open(settings: String) -> Result<(), Error> {
        let arm = Arm::from_settings(&settings);
        STATE.set(State { arm, revision: 1, entries: Vec::new() });
        hook(At::Open)
    }

    fn clone() -> Result<Vec<u8>, Error> {
        let state = STATE.with_borrow(serde_json::to_vec).map_err(|error| Error::Other(error.to_string()))?;
        match strikes(At::Clone) {
            None => Ok(state),
            Some(how @ (How::Huge | How::Wild | How::BadUtf8)) => Ok(bytes(how)),
            Some(how @ How::Unstable) => Ok([bytes(how), state].concat()),
            Some(how) => Err(error(how)),
        }
    }

    fn restore(state: Vec<u8>) -> Result<(), Error> {
        STATE.set(serde_json::from_slice(&state).map_err(|error| Error::State(error.to_string()))?);
        hook(At::Restore)
    }

    fn transfer(settings: String) -> Result<(), Error> {
        let arm = Arm::from_settings(&settings);
        if let Some(how) = arm.strikes(At::Transfer) {
            return Err(error(flood(how)));
        }
        hook(At::Transfer)?;
        STATE.with_borrow_mut(|state| state.arm = arm);
        Ok(())
    }

    fn reset() -> Result<(), Error> {
        hook(At::Reset)?;
        STATE.set(State { revision: 1, ..State::default() });
        Ok(())
    }
}

impl calls::Guest for Hostile {
    fn call(_: Context, name: String, arguments: String) -> Result<Reply, CallError> {
        let asked: Arguments =
            serde_json::from_str(&arguments).map_err(|error| CallError::Refused(error.to_string()))?;
        let how = match name.as_str() {
            "arm" => {
                STATE.with_borrow_mut(|state| state.arm = Arm { at: asked.at, how: asked.how });
                None
            }
            "strike" => Some(flood(asked.how.strike())),
            _ => strikes(At::Call),
        };
        let reply = |value: String| Ok(Reply { value, notices: Vec::new() });
        match how {
            None => reply("\"as you wish\"".into()),
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
        match strikes(At::Prompt) {
            None => Vec::new(),
            Some(How::Huge) => aliases().into_iter().map(section).collect(),
            Some(how @ (How::Wild | How::BadUtf8)) => vec![section(text(how))],
            Some(_) => trap(),
        }
    }

    fn opening(_: Context) -> Vec<Note> {
        let note = |body: String| Note { title: "Hostile".into(), body };
        match strikes(At::Opening) {
            None => Vec::new(),
            Some(How::Huge) => aliases().into_iter().map(note).collect(),
            Some(how @ (How::Wild | How::BadUtf8)) => vec![note(text(how))],
            Some(_) => trap(),
        }
    }
}

impl window::Guest for Hostile {
    fn append(ctx: Context, entries: Vec<Entry>) -> Result<(), Error> {
        hook(At::Append)?;
        if ctx.agent != FIRST_AGENT {
            hook(At::AppendElsewhere)?;
        }
        STATE.with_borrow_mut(|state| {
            state.revision += 1;
            state.entries.extend(entries.iter().map(pack));
        });
        Ok(())
    }

    fn entries(_: Context, _: u64) -> Changes {
        let mut changes = STATE.with_borrow(|state| {
            let entries: Vec<Entry> = state.entries.iter().map(unpack).collect();
            Changes {
                revision: state.revision,
                kept: 0,
                turn: entries.iter().map(|entry| entry.turn).max().unwrap_or(0),
                tokens: entries.iter().map(|entry| u64::from(entry.tokens)).sum(),
                entries,
            }
        });
        if let Some(how) = strikes(At::Entries) {
            distort(&mut changes, how);
        }
        changes
    }

    fn fold(_: Context, _: u64, _: u32) -> Vec<Segment> {
        let whole = STATE.with_borrow(|state| {
            let free = state
                .entries
                .iter()
                .map(unpack)
                .find(|entry| !entry.pinned && entry.calls == 0 && entry.role != Role::Results)?;
            Some(Segment { first: free.id, last: free.id, tokens: u64::from(free.tokens) })
        });
        let segments: Vec<Segment> = whole.into_iter().collect();
        match strikes(At::Fold) {
            None => segments,
            Some(how) => distorted(segments, how),
        }
    }

    fn folded(_: Context, summaries: Vec<Summary>) -> Result<(), Error> {
        hook(At::Folded)?;
        STATE.with_borrow_mut(|state| {
            for summary in &summaries {
                let find = |id: u64| state.entries.iter().position(|kept| kept.0 == id);
                let (Some(first), Some(last)) = (find(summary.first), find(summary.last)) else {
                    return Err(Error::Request("no such segment".into()));
                };
                if first > last {
                    return Err(Error::Request("a segment ends before it begins".into()));
                }
                state.entries.splice(first..=last, [pack(&summary.entry)]);
            }
            state.revision += 1;
            Ok(())
        })
    }
}

/// A stranger's entry.
fn stranger() -> Entry {
    Entry { id: NEVER_LENT, turn: 1, tokens: 1, calls: 0, pinned: false, role: Role::User }
}

fn distort(changes: &mut Changes, how: How) {
    let entries = &mut changes.entries;
    match how {
        How::NotLent => entries.push(stranger()),
        How::Unpaired => {
            let before = entries.len();
            entries.retain(|entry| entry.role != Role::Results);
            if entries.len() == before
                && let Some(last) = entries.last_mut()
            {
                last.role = Role::Results;
            }
        }
        How::Facts => entries.iter_mut().for_each(|entry| entry.tokens = entry.tokens.wrapping_add(1)),
        How::Twice => entries.extend(entries.last().copied()),
        How::Kept => changes.kept = u32::MAX,
        How::TurnBack => changes.turn = 0,
        How::Backwards => entries.reverse(),
        How::Huge => {
            let count = as_large_as_it_gets().len() / size_of::<Entry>() / 4;
            *entries = Vec::new();
            entries.extend((0..count).map(|_| stranger()));
        }
        How::Wild => wild(entries),
        _ => trap(),
    }
}

fn distorted(mut segments: Vec<Segment>, how: How) -> Vec<Segment> {
    let stranger = Segment { first: NEVER_LENT, last: NEVER_LENT, tokens: 1 };
    match how {
        How::NotLent => segments.push(stranger),
        How::Unpaired => STATE.with_borrow(|state| {
            let results = state.entries.iter().find(|kept| kept.5 == 2).or(state.entries.last());
            segments =
                results.map(|kept| Segment { first: kept.0, last: kept.0, tokens: 1 }).into_iter().collect();
        }),
        How::Facts => segments.iter_mut().for_each(|segment| segment.tokens += 1),
        How::Twice => segments.extend(segments.last().copied()),
        How::Backwards => STATE.with_borrow(|state| {
            if let (Some(first), Some(last)) = (state.entries.first(), state.entries.last()) {
                segments = vec![Segment { first: last.0, last: first.0, tokens: 1 }];
            }
        }),
        How::Huge => {
            let count = as_large_as_it_gets().len() / size_of::<Segment>() / 4;
            segments.extend((0..count).map(|_| stranger));
        }
        How::Wild => wild(&mut segments),
        _ => trap(),
    }
    segments
}

/// Makes the list one that lies outside the memory.
#[allow(unsafe_code, reason = "breaking the rules is what this is for")]
fn wild<T>(list: &mut Vec<T>) {
    let beyond = std::ptr::without_provenance_mut::<T>(0xffff_0000);
    // SAFETY: not upheld, on purpose: nothing is there. Only the host will look, or the guest will trap.
    std::mem::forget(std::mem::replace(list, unsafe { Vec::from_raw_parts(beyond, 2000, 2000) }));
}

#[cfg(target_arch = "wasm32")]
#[allow(unsafe_code, reason = "generated: the canonical ABI hands over pointers")]
const _: () = {
    gg_world_history::export_world!(Hostile with_types_in gg_world_history);
};
