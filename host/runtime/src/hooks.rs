//! Hooks: the operator's own programs, asked before and after calls and before an ending.
//!
//! A hook reads one JSON object, a [`Question`], and answers by its exit code. Before a call or an ending
//! everything but the code 0 refuses, being late or missing included: a gate that cannot be asked is shut.

use crate::command::{Command, End};
use gg_core::{
    AgentId, Call, CallResult, CallStatus, Ending, HookOutcome, HookPoint, ProfileId, RunId, Turn,
};
use serde::Serialize;
use serde_json::Value;
use std::{
    collections::BTreeSet,
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

/// The most of a hook's output that an agent reads, in bytes: enough for a linter's complaints about one file.
const MAX_SAID_BYTES: usize = 4 * 1024;

/// The hooks of a profile, in the order of the configuration.
#[derive(Debug)]
pub(crate) struct Hooks {
    hooks: Vec<Hook>,
    /// Where they run.
    workspace: PathBuf,
}

#[derive(Debug)]
struct Hook {
    on: HookPoint,
    /// Absent: every call.
    calls: Option<BTreeSet<String>>,
    /// The program as the configuration names it.
    name: String,
    program: PathBuf,
    args: Vec<OsString>,
    timeout: Duration,
}

/// What a hook reads from its standard input.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Question<'a> {
    pub(crate) hook: HookPoint,
    pub(crate) run: &'a RunId,
    pub(crate) agent: &'a AgentId,
    pub(crate) profile: &'a ProfileId,
    pub(crate) turn: Turn,
    /// Of calls: which.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "call")]
    pub(crate) call: Option<&'a Call>,
    /// After calls: what came of it.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "result")]
    pub(crate) result: Option<&'a CallResult>,
    /// Of endings: how the agent would end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ending: Option<&'a Ending>,
}

/// What came of asking one hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Its program, as the configuration names it.
    pub(crate) command: String,
    pub(crate) outcome: HookOutcome,
    pub(crate) elapsed_ms: u64,
    /// Before a call or an ending: why it is refused. After a call: what is added to its result.
    pub(crate) says: Option<String>,
}

impl Hooks {
    /// Makes the hooks of a profile ready; `base` is the folder of the configuration.
    ///
    /// # Errors
    /// The program that cannot be run, as the configuration names it.
    pub(crate) fn new(hooks: &[gg_config::Hook], base: &Path, workspace: &Path) -> Result<Self, String> {
        let ready = |hook: &gg_config::Hook| {
            let (name, args) = hook.command.split_first().ok_or_else(String::new)?;
            Ok(Hook {
                on: hook.on,
                calls: hook.calls.as_ref().map(|calls| calls.iter().cloned().collect()),
                name: name.clone(),
                // Found once, so that nothing that appears in a folder of PATH later takes its place.
                program: find_program(base, name).map_err(|_| name.clone())?,
                args: args.iter().map(OsString::from).collect(),
                timeout: Duration::from_millis(hook.timeout_ms),
            })
        };
        let hooks = hooks.iter().map(ready).collect::<Result<_, String>>()?;
        Ok(Self { hooks, workspace: workspace.to_owned() })
    }

    /// Whether some hook is asked here about the call of this name, or about an ending.
    pub(crate) fn has(&self, on: HookPoint, call: Option<&str>) -> bool {
        self.matching(on, call).next().is_some()
    }

    /// Asks the hooks that the question is for, one after another. Before a call or an ending the first one
    /// that refuses is the last one asked. `cancelled` gives a future that is ready once the answer is no
    /// longer wanted; what is asked then is ended and refuses.
    pub(crate) async fn ask<F: Future<Output = ()>>(
        &self,
        question: Question<'_>,
        cancelled: impl Fn() -> F,
    ) -> Vec<Answer> {
        let mut answers = Vec::new();
        for hook in self.matching(question.hook, question.call.map(|call| call.name.as_str())) {
            let answer = hook.ask(question, &self.workspace, cancelled()).await;
            let refused = question.hook != HookPoint::AfterCall && answer.says.is_some();
            answers.push(answer);
            if refused {
                break;
            }
        }
        answers
    }

    fn matching<'a>(&'a self, on: HookPoint, call: Option<&'a str>) -> impl Iterator<Item = &'a Hook> {
        self.hooks.iter().filter(move |hook| {
            let is_meant = |names: &BTreeSet<String>| call.is_some_and(|call| names.contains(call));
            hook.on == on && hook.calls.as_ref().is_none_or(is_meant)
        })
    }
}

impl Hook {
    async fn ask(
        &self,
        question: Question<'_>,
        workspace: &Path,
        cancelled: impl Future<Output = ()>,
    ) -> Answer {
        let input = match serde_json::to_vec(&question) {
            Ok(input) => input,
            Err(error) => {
                let end = End::Failed(format!("could not be asked: {error}"));
                return self.answer(&end, "", Duration::ZERO);
            }
        };
        let command = Command {
            program: self.program.clone(),
            args: self.args.clone(),
            dir: workspace.to_owned(),
            input: Some(input),
            timeout: self.timeout,
            max_output: MAX_SAID_BYTES,
        };
        let ended = command.run(cancelled).await;
        self.answer(&ended.end, ended.output.text().trim(), ended.elapsed)
    }

    fn answer(&self, end: &End, said: &str, elapsed: Duration) -> Answer {
        let says = match self.on {
            HookPoint::BeforeCall | HookPoint::BeforeEnd => self.refusal(end, said),
            HookPoint::AfterCall => self.remark(end, said),
        };
        let outcome = match end {
            End::Code(0) => HookOutcome::Passed,
            End::Code(_) if self.on != HookPoint::AfterCall => HookOutcome::Refused,
            End::Code(_) | End::Signal(_) | End::Cancelled | End::Failed(_) => HookOutcome::Failed,
            End::Late => HookOutcome::Late,
        };
        let elapsed_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        Answer { command: self.name.clone(), outcome, elapsed_ms, says }
    }

    fn refusal(&self, end: &End, said: &str) -> Option<String> {
        let name = &self.name;
        match (end, said) {
            (End::Code(0), _) => None,
            (End::Code(code), "") => Some(format!("the hook {name} refused it with exit code {code}")),
            (End::Code(_), said) => Some(format!("the hook {name} refused it: {said}")),
            (end, said) => {
                let what = self.mishap(end);
                Some(and_said(format!("the hook {name} {what}, which counts as a refusal"), said))
            }
        }
    }

    fn remark(&self, end: &End, said: &str) -> Option<String> {
        let name = &self.name;
        match (end, said) {
            (End::Code(0), "") => None,
            (End::Code(0), said) => Some(format!("the hook {name} said: {said}")),
            (end, said) => Some(and_said(format!("the hook {name} {}", self.mishap(end)), said)),
        }
    }

    /// What became of it instead of an end with the code 0.
    fn mishap(&self, end: &End) -> String {
        match end {
            End::Code(code) => format!("failed with exit code {code}"),
            End::Signal(signal) => format!("was ended by the signal {signal}"),
            End::Late => format!("was not done after {} ms and was stopped", self.timeout.as_millis()),
            End::Cancelled => "was stopped with the agent".into(),
            End::Failed(why) => why.clone(),
        }
    }
}

fn and_said(mut sentence: String, said: &str) -> String {
    if !said.is_empty() {
        sentence.push_str("; it said: ");
        sentence.push_str(said);
    }
    sentence
}

#[derive(Serialize)]
struct CallKeys<'a> {
    name: &'a str,
    arguments: Value,
}

fn call<S: serde::Serializer>(call: &Option<&Call>, serializer: S) -> Result<S::Ok, S::Error> {
    call.map(|call| CallKeys { name: &call.name, arguments: call.arguments.to_wire() }).serialize(serializer)
}

#[derive(Serialize)]
struct ResultKeys<'a> {
    status: CallStatus,
    content: &'a str,
}

fn result<S: serde::Serializer>(result: &Option<&CallResult>, serializer: S) -> Result<S::Ok, S::Error> {
    let keys = result.map(|result| ResultKeys { status: result.status, content: &result.content });
    keys.serialize(serializer)
}

/// Where the program that a hook names is. With a slash in it, `name` is a path relative to `base`; else it is
/// looked up in the absolute folders of PATH. The answer is absolute.
///
/// # Errors
/// Why there is no such program, or none that can be run.
pub(crate) fn find_program(base: &Path, name: &str) -> Result<PathBuf, String> {
    if name.contains('/') {
        let path = std::path::absolute(base.join(name)).map_err(|error| error.to_string())?;
        return can_run(&path).map(|()| path);
    }
    // A relative folder of PATH means another one in the workspace, where hooks run.
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders = env::split_paths(&path).filter(|folder| folder.is_absolute());
    folders
        .find_map(|folder| Some(folder.join(name)).filter(|path| can_run(path).is_ok()))
        .ok_or_else(|| "no folder of PATH has it".into())
}

fn can_run(path: &Path) -> Result<(), String> {
    let found = path.metadata().map_err(|error| error.to_string())?;
    if !found.is_file() {
        return Err("it is not a file".into());
    }
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).map_err(|_| "it is not executable".into())
}

#[cfg(test)]
mod tests;
