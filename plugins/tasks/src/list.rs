//! The list, and the rules of changing it.

use gg_module_sdk::CallError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How far a task has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not begun.
    #[default]
    Pending,
    /// Being worked on.
    InProgress,
    /// Finished.
    Done,
    /// Waiting for something else.
    Blocked,
    /// Given up on purpose.
    Cancelled,
}

impl Status {
    /// Every status, in the order that a list is told in.
    pub const ALL: [Self; 5] = [Self::InProgress, Self::Blocked, Self::Pending, Self::Done, Self::Cancelled];

    /// The word that the model uses for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Done => "done",
            Self::Blocked => "blocked",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether something is left to do.
    pub fn is_open(self) -> bool {
        !matches!(self, Self::Done | Self::Cancelled)
    }
}

/// One task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// What it is about, on one line.
    pub title: String,
    /// Whatever else belongs to it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub details: String,
    /// How far it has come.
    pub status: Status,
}

/// What a configuration may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Params {
    /// The most tasks at a time, finished ones included.
    pub max_tasks: usize,
    /// The longest title, in bytes.
    pub max_title_bytes: usize,
    /// The longest details, in bytes.
    pub max_details_bytes: usize,
}

impl Default for Params {
    fn default() -> Self {
        Self { max_tasks: 200, max_title_bytes: 200, max_details_bytes: 4000 }
    }
}

/// The list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tasks {
    /// The last id that was given. An id is never given twice, not even after its task is gone.
    last_id: u64,
    tasks: BTreeMap<u64, Task>,
}

/// What to change about a task. Absent: stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The new title.
    pub title: Option<String>,
    /// The new details; empty removes them.
    pub details: Option<String>,
    /// The new status.
    pub status: Option<Status>,
}

impl Tasks {
    /// All tasks, by id.
    pub fn all(&self) -> impl Iterator<Item = (u64, &Task)> {
        self.tasks.iter().map(|(id, task)| (*id, task))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// One task.
    ///
    /// # Errors
    /// Names the ids that exist, if this one does not.
    pub fn get(&self, id: u64) -> Result<&Task, CallError> {
        self.tasks.get(&id).ok_or_else(|| self.unknown(id))
    }

    /// Adds a task, and gives its id.
    ///
    /// # Errors
    /// If the list is full, or the task is over a cap.
    pub fn add(&mut self, task: Task, params: &Params) -> Result<u64, CallError> {
        if self.tasks.len() >= params.max_tasks {
            return Err(CallError::refused(format!(
                "The list holds {} tasks, and at most {} are allowed. Remove finished ones first (remove_task).",
                self.tasks.len(),
                params.max_tasks
            )));
        }
        check_title(&task.title, 0, params)?;
        check_details(&task.details, 0, params)?;
        // 2^64 additions cannot happen, and a state that was made up must not wrap into an id in use.
        let id = self.last_id.checked_add(1).ok_or_else(|| CallError::failed("no ids are left"))?;
        self.last_id = id;
        self.tasks.insert(id, task);
        Ok(id)
    }

    /// Changes a task.
    ///
    /// # Errors
    /// If there is no such task, or a text would grow over its cap.
    pub fn update(&mut self, id: u64, change: Change, params: &Params) -> Result<&Task, CallError> {
        let unknown = self.unknown(id);
        let task = self.tasks.get_mut(&id).ok_or(unknown)?;
        if let Some(title) = &change.title {
            check_title(title, task.title.len(), params)?;
        }
        if let Some(details) = &change.details {
            check_details(details, task.details.len(), params)?;
        }
        task.title = change.title.unwrap_or_else(|| std::mem::take(&mut task.title));
        task.details = change.details.unwrap_or_else(|| std::mem::take(&mut task.details));
        task.status = change.status.unwrap_or(task.status);
        Ok(task)
    }

    /// Takes a task off the list.
    ///
    /// # Errors
    /// If there is no such task.
    pub fn remove(&mut self, id: u64) -> Result<Task, CallError> {
        self.tasks.remove(&id).ok_or_else(|| self.unknown(id))
    }

    fn unknown(&self, id: u64) -> CallError {
        /// Enough to find a mistyped id, and little enough to read.
        const NAMED: usize = 50;
        let ids: Vec<String> = self.tasks.keys().take(NAMED).map(u64::to_string).collect();
        let known = match self.tasks.len() {
            0 => "The list is empty.".to_owned(),
            more if more > NAMED => format!("The first ids are {}; list_tasks shows all.", ids.join(", ")),
            _ => format!("The ids are {}.", ids.join(", ")),
        };
        CallError::refused(format!("There is no task {id}. {known}"))
    }
}

/// A text may stay as long as it is when its cap was lowered, but not grow.
fn check_title(title: &str, before: usize, params: &Params) -> Result<(), CallError> {
    if title.trim().is_empty() {
        return Err(CallError::refused("A task needs a title."));
    }
    if title.contains(['\n', '\r']) {
        return Err(CallError::refused("A title is one line. Put the rest in `details`."));
    }
    check_length("title", title, before, params.max_title_bytes)
}

fn check_details(details: &str, before: usize, params: &Params) -> Result<(), CallError> {
    check_length("details", details, before, params.max_details_bytes)
}

fn check_length(what: &str, text: &str, before: usize, most: usize) -> Result<(), CallError> {
    if text.len() > most && text.len() > before {
        return Err(CallError::refused(format!(
            "`{what}` is {} bytes long, and at most {most} are allowed.",
            text.len()
        )));
    }
    Ok(())
}
