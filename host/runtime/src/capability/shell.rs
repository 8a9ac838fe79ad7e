//! The `shell` capability: one call, which has `sh` run a command in the workspace's root.
//!
//! This is no sandbox. A command does what gg's own user may do: it reads and writes outside the workspace,
//! uses the network, and a process that leaves its session outlives it. What is bounded is its time, how much
//! of its output is given, and what it finds in its environment.

use super::workspace::{self, WorkspaceError};
use crate::command::{Command, End, Ended};
use gg_config::ShellParams;
use gg_core::{Arguments, Call, CallResult, CallSpec, CallStatus, Effect, call::MAX_RESULT_BYTES};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// The id of the capability.
pub(crate) const CAPABILITY: &str = "shell";

/// The name of the call.
pub(crate) const CALL: &str = "run_command";

/// The most output that one result gives, in bytes: a whole result less room for the line above the output.
const MAX_OUTPUT_BYTES: usize = MAX_RESULT_BYTES - 1024;

/// Runs commands in one directory.
#[derive(Debug)]
pub(crate) struct Shell {
    root: PathBuf,
    params: ShellParams,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RunCommand {
    command: String,
    #[serde(default, deserialize_with = "workspace::whole")]
    timeout_ms: Option<usize>,
}

impl Shell {
    /// A shell in the directory `root`, which must exist.
    ///
    /// # Errors
    /// Where it is missing or not a directory.
    pub(crate) fn open(root: &Path, params: ShellParams) -> Result<Self, WorkspaceError> {
        Ok(Self { root: workspace::resolve(root)?, params })
    }

    /// The call as it is offered under these settings.
    pub(crate) fn spec(params: &ShellParams) -> CallSpec {
        CallSpec {
            name: CALL.into(),
            description: "Run a command with `sh -c` in the root of your workspace. You get its exit code and \
                          its output, standard output and error together; of much output, the beginning and \
                          the end. It has no input and no terminal, so nothing in it can ask a question. What \
                          it leaves running in the background is ended with it."
                .into(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "command": { "type": "string", "description": "The command, as a shell reads it." },
                    "timeoutMs": {
                        "type": "integer",
                        "minimum": 1,
                        "maximum": params.timeout_ms,
                        "description": format!(
                            "After how many milliseconds it is stopped. Absent: {}.",
                            params.timeout_ms
                        )
                    }
                },
                "required": ["command"],
                "additionalProperties": false
            }),
            effect: Effect::Acting,
            feature: None,
        }
    }

    /// Runs the command of `call`, until it ends or `cancelled` is ready.
    pub(crate) async fn run(&self, call: &Call, cancelled: impl Future<Output = ()>) -> CallResult {
        let command = match self.command(call) {
            Ok(command) => command,
            Err(why) => return CallResult::new(call, CallStatus::Refused, why),
        };
        let timeout = command.timeout;
        let ended = command.run(cancelled).await;
        let status = match ended.end {
            End::Code(0) => CallStatus::Ok,
            _ => CallStatus::Failed,
        };
        CallResult::new(call, status, answer(&ended, timeout))
    }

    fn command(&self, call: &Call) -> Result<Command, String> {
        let Arguments::Json(arguments) = &call.arguments else {
            return Err("the arguments are not a JSON object".into());
        };
        let arguments: RunCommand = serde_json::from_value(Value::Object(arguments.clone()))
            .map_err(|error| format!("the arguments of {CALL} do not fit: {error}"))?;
        if arguments.command.trim().is_empty() {
            return Err("the command is empty".into());
        }
        if arguments.command.contains('\0') {
            return Err("a command cannot hold a NUL character; write \\0 for the shell's own tools".into());
        }
        let asked = arguments.timeout_ms.map_or(self.params.timeout_ms, |ms| ms as u64);
        Ok(Command {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), arguments.command.into()],
            dir: self.root.clone(),
            input: None,
            timeout: Duration::from_millis(asked.min(self.params.timeout_ms)),
            max_output: usize::try_from(self.params.max_output_bytes)
                .map_or(MAX_OUTPUT_BYTES, |most| most.min(MAX_OUTPUT_BYTES)),
        })
    }
}

/// What the model reads.
fn answer(ended: &Ended, timeout: Duration) -> String {
    let mut answer = match &ended.end {
        End::Code(code) => format!("exit code {code}"),
        End::Signal(signal) => format!("ended by the signal {signal}"),
        End::Late => format!("not done after {} ms, and stopped", timeout.as_millis()),
        End::Cancelled => "stopped with the agent".into(),
        End::Failed(why) => format!("the shell {why}"),
    };
    if ended.left_running {
        answer.push_str("; what it left running was ended");
    }
    let output = ended.output.text();
    if output.trim().is_empty() {
        answer.push_str(", no output");
    } else {
        answer.push('\n');
        answer.push_str(output.trim_end());
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use gg_config::ValueSchema;
    use std::{fs, future::pending};

    const PARAMS: ShellParams = ShellParams { timeout_ms: 60_000, max_output_bytes: 300 };

    fn call(arguments: Value) -> Call {
        let arguments = Arguments::parse(&arguments.to_string());
        Call { id: "c1".into(), name: CALL.into(), arguments }
    }

    async fn run(arguments: Value) -> (CallStatus, String) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("notes.txt"), "the word is lighthouse\n").unwrap();
        let shell = Shell::open(folder.path(), PARAMS).unwrap();
        let result = shell.run(&call(arguments), pending()).await;
        (result.status, result.content)
    }

    #[tokio::test]
    async fn a_command_runs_in_the_root_and_its_end_and_output_are_given() {
        let rows = [
            ("cat *.txt", CallStatus::Ok, "exit code 0\nthe word is lighthouse"),
            ("true", CallStatus::Ok, "exit code 0, no output"),
            ("echo out; echo err >&2; false", CallStatus::Failed, "failed: exit code 1\nout\nerr"),
            ("kill -11 $$", CallStatus::Failed, "failed: ended by the signal 11, no output"),
            ("cat", CallStatus::Ok, "exit code 0, no output"),
            ("sleep 60 & echo begun", CallStatus::Ok, "exit code 0; what it left running was ended\nbegun"),
        ];
        for (command, status, content) in rows {
            let expected = (status, content.to_owned());
            assert_eq!(run(json!({ "command": command })).await, expected, "{command}");
        }
        let late = run(json!({ "command": "echo begun; sleep 60", "timeoutMs": 300.0 })).await;
        let content = "failed: not done after 300 ms, and stopped\nbegun";
        assert_eq!(late, (CallStatus::Failed, content.into()));
    }

    #[tokio::test]
    async fn of_much_output_both_ends_are_given() {
        let (_, content) = run(json!({ "command": "seq 10000" })).await;
        assert!(content.len() <= 300 + 12, "{content}");
        assert!(content.starts_with("exit code 0\n1\n2\n") && content.ends_with("\n10000"), "{content}");
        assert!(content.contains("\n[cut: the first and the last of 48894 bytes shown]\n"), "{content}");
    }

    #[tokio::test]
    async fn what_cannot_be_run_is_refused() {
        let rows = [
            (json!({ "command": " " }), "refused: the command is empty"),
            (
                json!({ "command": "a\0" }),
                "refused: a command cannot hold a NUL character; write \\0 for the shell's own tools",
            ),
            (
                json!({ "command": "a", "timeoutMs": -1 }),
                "refused: the arguments of run_command do not fit: -1 is not a whole number from 0 on",
            ),
        ];
        for (arguments, content) in rows {
            assert_eq!(run(arguments).await, (CallStatus::Refused, content.into()));
        }
    }

    #[tokio::test]
    async fn a_call_may_ask_for_less_time_and_not_for_more() {
        let spec = Shell::spec(&PARAMS);
        let schema = ValueSchema::new(&spec.parameters).unwrap();
        let fits = |ms: u64| schema.check(&json!({ "command": "a", "timeoutMs": ms })).is_empty();
        assert_eq!([0, 1, 60_000, 60_001].map(fits), [false, true, true, false]);
        let shell = Shell::open(Path::new("/"), PARAMS).unwrap();
        let asked =
            |ms: u64| shell.command(&call(json!({ "command": "a", "timeoutMs": ms }))).unwrap().timeout;
        assert_eq!([10, 70_000].map(asked), [10, 60_000].map(Duration::from_millis));
    }
}
