//! A place to work at with nothing on it: a home, a configuration, a workspace, and `gg`.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};
use tempfile::TempDir;

/// Folders of its own for one test.
pub(super) struct Desk {
    folder: TempDir,
}

/// What a command left behind.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    /// The exit code; absent if a signal ended it.
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

fn program() -> PathBuf {
    let program = match std::env::var_os("GG_BIN") {
        Some(program) => PathBuf::from(program),
        None => gg_tests::root().join("bin/gg"),
    };
    let found = program.canonicalize();
    found.unwrap_or_else(|error| panic!("{}: {error}; run `cargo xtask build` first", program.display()))
}

/// Where the tests' commands keep compiled components, so that only the first of them compiles.
fn cache() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cli-cache")
}

impl Desk {
    /// A desk with an empty workspace.
    pub(super) fn new() -> Self {
        let desk = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(desk.path("work")).unwrap();
        desk
    }

    /// A desk with a configuration `agents.jsonc` of one agent, whose model says what `replies` do.
    pub(super) fn with(replies: serde_json::Value) -> Self {
        let desk = Self::new();
        desk.file("agents.jsonc", CONFIGURATION);
        desk.file("script.json", &serde_json::json!({ "replies": replies }).to_string());
        desk
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn file(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// The command, in an environment that has nothing of whoever runs the tests.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env_clear()
            .env("HOME", self.path("home"))
            .env("XDG_CACHE_HOME", cache())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Starts it.
    pub(super) fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).spawn().unwrap()
    }

    /// Runs it to its end.
    pub(super) fn gg(&self, arguments: &[&str]) -> Outcome {
        self.outcome(self.command(arguments).output().unwrap())
    }

    /// Runs it to its end with something on stdin.
    pub(super) fn gg_reading(&self, arguments: &[&str], input: &[u8]) -> Outcome {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        self.outcome(child.wait_with_output().unwrap())
    }

    pub(super) fn outcome(&self, output: Output) -> Outcome {
        Outcome {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The text without what differs from one try to the next: paths, names of runs, times.
    pub(super) fn steady(&self, text: &str) -> String {
        let canonical = self.folder.path().canonicalize().unwrap();
        let mut text = text.to_owned();
        for folder in [canonical.as_path(), self.folder.path()] {
            text = text.replace(&folder.display().to_string(), "DESK");
        }
        for run in self.runs() {
            text = text.replace(&run, "RUN");
        }
        text.split_inclusive('\n').map(without_times).collect()
    }

    /// The names of the runs in the folder that is used unless another is named.
    pub(super) fn runs(&self) -> Vec<String> {
        names(&self.path("home/.local/state/gg/runs"))
    }
}

fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// `1.2 s` becomes `TIME`, and so does a date; how long a call took may be too short to be said. Seconds in a
/// column, which a slow machine may take more of, become `0s`.
fn without_times(line: &str) -> String {
    if let Some((before, _)) = line.split_once("started   ") {
        return format!("{before}started   TIME\n");
    }
    let mut words: Vec<&str> = line.split(' ').collect();
    for word in &mut words {
        if word.len() == 2 && word.ends_with('s') && word.starts_with(|c: char| c.is_ascii_digit()) {
            *word = "0s";
        }
    }
    for at in 1..words.len() {
        let unit = words[at].trim_end_matches('\n');
        if words[at - 1].parse::<f64>().is_ok() && matches!(unit, "ms" | "s") {
            words[at - 1] = "TIME";
            words[at] = if words[at].ends_with('\n') { "\n" } else { "" };
        }
    }
    let line = words.join(" ").replace("TIME \n", "TIME\n").replace("TIME ", "TIME");
    // In a list, times are aligned to the right.
    let line = line.replace(" in TIME", "");
    match line.split_once(" TIME") {
        Some((before, after)) => format!("{} TIME{after}", before.trim_end()),
        None => line,
    }
}

/// One agent that can read files.
pub(super) const CONFIGURATION: &str = r#"// One agent that reads.
{
  "maxParallel": 1,
  "providers": { "script": { "api": "scripted", "script": "script.json" } },
  "agents": [
    {
      "id": "reader",
      "model": {
        "provider": "script", "name": "scripted", "contextWindow": 16000, "maxOutput": 1000,
        "prices": { "input": 10, "output": 20 },
      },
      "prompt": "You read.",
      "maxTurns": 3,
      "capabilities": [{ "id": "workspace", "enabled": true }],
    },
  ],
}
"#;
