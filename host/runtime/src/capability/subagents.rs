//! Subagents: the calls that spawn, wait and write, and what they answer. `agent/delegation.rs` carries them out.

use super::spec;
use crate::lineages::{Child, Ended, Enough, Stranger};
use gg_config::{Configuration, Feature, Kind, Profile, SubagentsParams};
use gg_core::{AgentId, Arguments, Call, CallSpec, Effect, Ending, ProfileId, call::MAX_RESULT_BYTES, text};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::{collections::BTreeSet, time::Duration};

/// The id of the capability.
pub(crate) const CAPABILITY: &str = "subagents";
/// The feature that offers [`SEND`].
const FEATURE_MESSAGING: &str = "messaging";
/// Puts an agent of the roster to work.
pub(crate) const SPAWN: &str = "spawn_subagent";
/// Waits for results.
pub(crate) const WAIT: &str = "wait_for_subagents";
/// Writes to a running subagent.
pub(crate) const SEND: &str = "send_message";

/// The longest that a wait may be told to take: a day. An agent that means to wait longer gives no deadline.
const MAX_WAIT_MS: u64 = 24 * 60 * 60 * 1000;

/// The longest brief or message, in bytes: what one result may hold, so that whatever an agent was given can be
/// passed on whole.
const MAX_TEXT_BYTES: usize = MAX_RESULT_BYTES;

/// The most subagents that one wait names.
const MAX_IDS: usize = 10_000;

/// What a result takes beside its texts, in bytes: its keys, an id and a profile's id.
const RESULT_FRAME_BYTES: usize = 200;

/// The least that a result is cut to, in bytes: a sentence or two. More results than so fit are left for the next
/// answer.
const MIN_RESULT_BYTES: usize = 500;

/// What an answer takes beside its results and ids, in bytes.
const ANSWER_FRAME_BYTES: usize = 512;

/// The capability, as the launch check knows it. Which of its calls an agent is offered depends on its roster.
pub(crate) fn kind() -> Kind {
    Kind {
        features: vec![Feature {
            name: FEATURE_MESSAGING.into(),
            description: "Offers the call `send_message`. Off: an agent spawns and waits.".into(),
            enabled: true,
        }],
        ..super::kind(CAPABILITY, "Subagents", SubagentsParams::schema(), specs())
    }
}

/// The calls, as they are before a roster is known.
fn specs() -> Vec<CallSpec> {
    let spawn = "Put another agent to work on its own, with a brief that says everything it needs: it knows \
                 nothing of this conversation. Answers with its id at once; collect its result with \
                 `wait_for_subagents`. It works in the same workspace as you and beside you, so briefs must not \
                 overlap.";
    let wait = "Wait until your subagents have ended, and get their results: final text, how each ended, and what \
                it declared. While you wait you do nothing else. An agent that has ended already is answered at \
                once, also a second time.";
    let send = "Send a message to a running subagent of yours. It reads it before its next turn. Refused if it \
                has ended.";
    let text = |description: &str| json!({ "type": "string", "minLength": 1, "description": description });
    vec![
        spec(
            SPAWN,
            spawn,
            json!({ "agent": text("Which agent, by its id."), "prompt": text("Its brief.") }),
            &["agent", "prompt"],
            Effect::Acting,
        ),
        spec(
            WAIT,
            wait,
            json!({
                "ids": {
                    "type": "array", "minItems": 1, "maxItems": MAX_IDS, "items": { "type": "string" },
                    "description": "Which subagents. Left out: all whose results you have not been given."
                },
                "mode": {
                    "type": "string", "enum": ["all", "any"],
                    "description": "Until all of them have ended (the default), or any one."
                },
                "timeoutMs": {
                    "type": "integer", "minimum": 0, "maximum": MAX_WAIT_MS,
                    "description": "Wait this many milliseconds at most, then go on as soon as a slot is free, with \
                                    what there is. 0: do not wait, only look."
                }
            }),
            &[],
            Effect::ReadOnly,
        ),
        CallSpec {
            feature: Some(FEATURE_MESSAGING.into()),
            ..spec(
                SEND,
                send,
                json!({ "id": text("The subagent."), "message": text("What to tell it.") }),
                &["id", "message"],
                Effect::Acting,
            )
        },
    ]
}

/// The call, as it is offered to agents of `profile`.
pub(crate) fn with_roster(spec: CallSpec, profile: &Profile, configuration: &Configuration) -> CallSpec {
    if spec.name == SPAWN { naming_the_roster(spec, profile, configuration) } else { spec }
}

/// Tells whoever reads of a call, whose argument `agent` is one of its roster, which agents there are, and when to reach
/// for each.
pub(crate) fn naming_the_roster(
    mut spec: CallSpec,
    profile: &Profile,
    configuration: &Configuration,
) -> CallSpec {
    spec.description.push_str("\nThe agents:");
    let mut ids = Vec::new();
    for entry in profile.spawnable() {
        let target = configuration.profile(&entry.agent_id);
        let name = target.map_or(entry.agent_id.as_str(), |target| target.name.as_str());
        spec.description.push_str(&format!("\n- {} ({name})", entry.agent_id));
        let description = entry.description.as_ref().or_else(|| target?.description.as_ref());
        if let Some(description) = description {
            spec.description.push_str(&format!(": {description}"));
        }
        ids.push(entry.agent_id.as_str());
    }
    spec.parameters["properties"]["agent"]["enum"] = json!(ids);
    spec
}

/// What `spawn_subagent` is given.
#[derive(Debug, Deserialize)]
pub(crate) struct Spawn {
    pub(crate) agent: String,
    pub(crate) prompt: String,
}

/// What `send_message` is given.
#[derive(Debug, Deserialize)]
pub(crate) struct Send {
    pub(crate) id: String,
    pub(crate) message: String,
}

/// What `wait_for_subagents` is given.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Wait {
    #[serde(default)]
    pub(crate) ids: Option<Vec<String>>,
    #[serde(default)]
    mode: Mode,
    #[serde(default)]
    timeout_ms: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    All,
    Any,
}

impl Wait {
    pub(crate) fn enough(&self) -> Enough {
        match self.mode {
            Mode::All => Enough::All,
            Mode::Any => Enough::Any,
        }
    }

    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout_ms.map(Duration::from_millis)
    }
}

/// The text of an argument that may be left out, checked like one that may not; a blank one counts as left out.
pub(crate) fn optional_text(what: &str, given: Option<String>) -> Result<Option<String>, String> {
    let given = given.filter(|text| !text.trim().is_empty());
    given.map(|text| check_text(what, &text).map(|()| text)).transpose()
}

/// The arguments of a call, which have passed its schema.
pub(crate) fn arguments<T: for<'a> Deserialize<'a>>(call: &Call) -> Result<T, String> {
    let arguments = match &call.arguments {
        Arguments::Json(arguments) => arguments.clone(),
        Arguments::Malformed(_) => Map::new(),
    };
    serde_json::from_value(Value::Object(arguments)).map_err(|error| error.to_string())
}

/// Refuses a text that is blank, or too long for whoever is to read it.
pub(crate) fn check_text(what: &str, given: &str) -> Result<(), String> {
    if given.trim().is_empty() {
        return Err(format!("the {what} is empty"));
    }
    if given.len() > MAX_TEXT_BYTES {
        let most = MAX_TEXT_BYTES / 1024;
        return Err(format!(
            "the {what} has {} bytes; {most} KiB are allowed. Write the rest to a file, and name that",
            given.len()
        ));
    }
    Ok(())
}

/// What a spawn answers.
pub(crate) fn spawned(id: &AgentId, profile: &ProfileId) -> Value {
    json!({ "id": id, "agent": profile })
}

/// Why an agent cannot be waited for.
pub(crate) fn no_result_of(id: &str, why: Stranger) -> String {
    let id = text::glance(id, 64);
    match why {
        Stranger::Unknown => unknown(&id),
        Stranger::Itself => format!("{id:?} is you: that would never end"),
        Stranger::NotAChild => {
            format!("{id:?} is not your subagent: only the agent that spawned it gets its result")
        }
    }
}

/// Why an agent cannot be written to.
pub(crate) fn no_message_to(id: &str, why: Stranger) -> String {
    let id = text::glance(id, 64);
    match why {
        Stranger::Unknown => unknown(&id),
        Stranger::Itself => format!("{id:?} is you"),
        Stranger::NotAChild => format!(
            "{id:?} is not your subagent, and only those can be written to. Whoever spawned you reads your final text \
             and data"
        ),
    }
}

fn unknown(id: &str) -> String {
    format!("there is no agent {id:?}; use an id that you were given when you put it to work")
}

/// What a wait answers: the results there are, and who is still at work. The second part says whose results are in
/// it: those that do not fit are left for another wait.
///
/// The answer has at most `most_bytes`.
pub(crate) fn results(children: &[Child], timed_out: bool, most_bytes: usize) -> (Value, BTreeSet<AgentId>) {
    let mut ended: Vec<_> =
        children.iter().filter_map(|child| Some((child, child.ended.as_deref()?))).collect();
    let running: Vec<&AgentId> =
        children.iter().filter(|child| child.ended.is_none()).map(|child| &child.id).collect();
    let names: usize = children.iter().map(|child| child.id.as_str().len() + 3).sum();
    let room = most_bytes.min(MAX_RESULT_BYTES).saturating_sub(names + ANSWER_FRAME_BYTES);
    let fit = (room / MIN_RESULT_BYTES).max(1);
    let left = ended.split_off(ended.len().min(fit));
    let each = room / ended.len().max(1);
    let results: Vec<Value> = ended.iter().map(|(child, ending)| result(child, ending, each)).collect();
    let mut answer = json!({ "results": results });
    if !running.is_empty() {
        answer["running"] = json!(running);
    }
    if !left.is_empty() {
        let left: Vec<&AgentId> = left.iter().map(|(child, _)| &child.id).collect();
        answer["ended, but too much for one answer: wait for these again"] = json!(left);
    }
    if timed_out {
        answer["timedOut"] = json!(true);
    }
    (answer, ended.into_iter().map(|(child, _)| child.id.clone()).collect())
}

/// One child's result, in about `room` bytes: its texts are cut where all of them would not fit in one answer.
fn result(child: &Child, ended: &Ended, room: usize) -> Value {
    let mut ending = ended.ending.clone();
    if let Ending::Finished { text, data, .. } = &mut ending {
        let data_bytes = data.as_ref().map_or(0, |data| data.to_string().len());
        let left = room.saturating_sub(RESULT_FRAME_BYTES + text.len());
        if data_bytes > left && data_bytes > room / 2 {
            let bytes = data_bytes;
            *data = Some(json!({
                "left out": format!("{bytes} bytes of data do not fit beside the other results; wait for fewer at once")
            }));
        }
    }
    let left = room.saturating_sub(RESULT_FRAME_BYTES);
    match &mut ending {
        Ending::Text { text } | Ending::Finished { text, .. } => cut(text, left),
        Ending::Failed { error, .. } => cut(error, left / 2),
        _ => {}
    }
    let mut value = json!({ "id": child.id, "agent": child.profile });
    if let (Some(value), Ok(Value::Object(ending))) = (value.as_object_mut(), serde_json::to_value(&ending)) {
        value.extend(ending);
        if let Some(said) = &ended.said {
            let mut said = said.clone();
            cut(&mut said, left / 2);
            value.insert("text".into(), Value::String(said));
        }
        if let Some(state) = &ended.state {
            value.insert("state".into(), json!(state));
        }
        if ended.unread > 0 {
            value.insert("unreadMessages".into(), json!(ended.unread));
        }
    }
    value
}

/// Cuts a text so that it also fits once its quotes and breaks are escaped.
fn cut(text: &mut String, bytes: usize) {
    let escaped = serde_json::to_string(text).map_or(usize::MAX, |json| json.len());
    if escaped > bytes {
        let most = bytes * text.len() / escaped.max(1);
        *text = text::cut_saying_so(std::mem::take(text), most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gg_core::Outcome;
    use std::sync::Arc;

    fn child(n: u64, ended: Option<Ending>) -> Child {
        let ended = ended.map(|ending| Arc::new(Ended { ending, said: None, state: None, unread: 0 }));
        Child { id: AgentId::nth(n), profile: "reader".into(), ended }
    }

    #[test]
    fn a_result_says_the_text_how_it_ended_and_what_was_declared() {
        let finished = Ending::Finished {
            outcome: Outcome::Failure,
            text: "no".into(),
            data: Some(json!({ "verdict": "reject" })),
        };
        let children =
            [child(2, Some(finished)), child(3, None), child(4, Some(Ending::TurnLimit { limit: 5 }))];
        assert_eq!(
            results(&children, true, usize::MAX).0,
            json!({
                "results": [
                    { "id": "a2", "agent": "reader", "how": "finished", "outcome": "failure", "text": "no",
                      "data": { "verdict": "reject" } },
                    { "id": "a4", "agent": "reader", "how": "turn_limit", "limit": 5 },
                ],
                "running": ["a3"],
                "timedOut": true,
            })
        );
    }

    #[test]
    fn many_long_results_fit_into_one_answer_and_say_that_they_were_cut() {
        let long = || Some(Ending::Text { text: "\"ñ\n".repeat(20_000) });
        let children: Vec<Child> = (2..40).map(|n| child(n, long())).collect();
        let (answer, given) = results(&children, false, usize::MAX);
        assert_eq!((answer["results"].as_array().unwrap().len(), given.len()), (38, 38));
        assert!(answer.to_string().len() <= MAX_RESULT_BYTES, "{}", answer.to_string().len());
    }

    #[test]
    fn more_results_than_fit_are_given_one_answer_after_another() {
        let mut children: Vec<Child> = (2..1002)
            .map(|n| child(n, Some(Ending::Failed { error: "x".repeat(9000), turn: gg_core::Turn(1) })))
            .collect();
        let mut answers = 0;
        while !children.is_empty() {
            let (answer, given) = results(&children, false, usize::MAX);
            assert!(answer.to_string().len() <= MAX_RESULT_BYTES, "{}", answer.to_string().len());
            assert!(!given.is_empty());
            children.retain(|child| !given.contains(&child.id));
            answers += 1;
        }
        assert!(answers < 10, "{answers}");
    }
}
