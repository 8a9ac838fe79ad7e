//! What the model is offered.

use crate::{
    list::{Change, Params, Status, Task, Tasks},
    show,
};
use gg_module_sdk::{Call, CallError, Cx, Module, Note, Reply, Section, Value, json};
use serde::Deserialize;

type Moment<'a> = Cx<'a, Params>;
type Outcome = Result<Reply, CallError>;

impl Module for Tasks {
    const KIND: &'static str = "tasks";
    const TITLE: &'static str = "Tasks";
    const STATE_FORMAT: &'static str = "gg.tasks/1";
    type Params = Params;

    fn params() -> Value {
        let default = Params::default();
        json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "maxTasks": {
                    "type": "integer", "minimum": 1, "maximum": 10_000, "default": default.max_tasks,
                    "description": "The most tasks at a time, finished ones included.",
                },
                "maxTitleBytes": {
                    "type": "integer", "minimum": 8, "maximum": 1000, "default": default.max_title_bytes,
                    "description": "The longest title, in bytes.",
                },
                "maxDetailsBytes": {
                    "type": "integer", "minimum": 0, "maximum": 20_000, "default": default.max_details_bytes,
                    "description": "The longest details, in bytes.",
                },
            },
        })
    }

    fn calls() -> Vec<Call<Self>> {
        vec![
            Call::acting(
                "add_task",
                "Adds a task to your task list and answers its id. Add one task per step before you begin \
                 work that takes several.",
                add_schema,
                Self::on_add,
            ),
            Call::acting(
                "update_task",
                "Changes a task: its status as you work (in_progress when you begin, done when it is \
                 finished, blocked when something is in the way), its title or its details. What you leave \
                 out stays.",
                update_schema,
                Self::on_update,
            ),
            Call::read_only(
                "list_tasks",
                "Shows your task list: ids, statuses, titles and details. With `id`, shows that task in \
                 full; with `status`, only the tasks that have it.",
                list_schema,
                Self::on_list,
            ),
            Call::acting(
                "remove_task",
                "Takes a task off the list for good. To keep a record of it, set its status to done or \
                 cancelled instead.",
                remove_schema,
                Self::on_remove,
            ),
        ]
    }

    fn prompt(&self, _: &Moment<'_>) -> Vec<Section> {
        vec![Section {
            title: "Tasks".into(),
            body:
                "You keep a task list (add_task, update_task, list_tasks, remove_task). Use it for work of \
                   more than two steps, and keep the statuses true: whoever takes over from you may be \
                   handed this list."
                    .into(),
        }]
    }

    fn opening(&self, _: &Moment<'_>) -> Vec<Note> {
        if self.is_empty() {
            return Vec::new();
        }
        vec![Note { title: "Task list".into(), body: show::opening(self) }]
    }
}

const STATUSES: [&str; 5] = ["pending", "in_progress", "done", "blocked", "cancelled"];

fn add_schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["title"],
        "properties": {
            "title": {"type": "string", "description": "What is to be done, on one line."},
            "details": {"type": "string", "description": "Whatever else belongs to it."},
            "status": {"type": "string", "enum": STATUSES, "default": "pending"},
        },
    })
}

fn update_schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["id"],
        "properties": {
            "id": {"type": "integer", "minimum": 1},
            "title": {"type": "string"},
            "details": {"type": "string", "description": "Replaces the details; an empty string removes them."},
            "status": {"type": "string", "enum": STATUSES},
        },
    })
}

fn list_schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "id": {"type": "integer", "minimum": 1},
            "status": {"type": "string", "enum": STATUSES},
        },
    })
}

fn remove_schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["id"],
        "properties": {"id": {"type": "integer", "minimum": 1}},
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Add {
    title: String,
    #[serde(default)]
    details: String,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Update {
    id: u64,
    title: Option<String>,
    details: Option<String>,
    status: Option<Status>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    id: Option<u64>,
    status: Option<Status>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Remove {
    id: u64,
}

impl Tasks {
    fn on_add(&mut self, cx: &Moment<'_>, add: Add) -> Outcome {
        let task = Task { title: add.title, details: add.details, status: add.status };
        let line = show::line(&task);
        let id = self.add(task, &cx.settings.params)?;
        Ok(Reply::text(format!("Added task {id}: {line}"))
            .notify(format!("{} added task {id}: {line}", cx.agent)))
    }

    fn on_update(&mut self, cx: &Moment<'_>, update: Update) -> Outcome {
        let Update { id, title, details, status } = update;
        if title.is_none() && details.is_none() && status.is_none() {
            return Err(CallError::refused("Say what to change: `title`, `details` or `status`."));
        }
        let task = self.update(id, Change { title, details, status }, &cx.settings.params)?;
        let line = show::line(task);
        Ok(Reply::text(format!("Task {id} is now: {line}"))
            .notify(format!("{} changed task {id}, which is now: {line}", cx.agent)))
    }

    fn on_list(&self, _: &Moment<'_>, list: List) -> Outcome {
        match list.id {
            Some(id) => Ok(Reply::text(show::whole(id, self.get(id)?))),
            None => Ok(Reply::text(show::list(self, list.status))),
        }
    }

    fn on_remove(&mut self, cx: &Moment<'_>, remove: Remove) -> Outcome {
        let task = self.remove(remove.id)?;
        let (id, line) = (remove.id, show::line(&task));
        Ok(Reply::text(format!("Removed task {id}: {line}"))
            .notify(format!("{} removed task {id}: {line}", cx.agent)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gg_module_sdk::testing::{Holder, descriptor_faults};

    fn holder(params: Value) -> Holder<Tasks> {
        Holder::open(json!({"params": params})).unwrap()
    }

    fn refusal(answer: Outcome) -> String {
        match answer {
            Err(CallError::Refused(why)) => why,
            other => panic!("not refused: {other:?}"),
        }
    }

    #[test]
    fn the_descriptor_is_sound() {
        assert_eq!(descriptor_faults::<Tasks>(), Vec::<String>::new());
        let mut words = STATUSES;
        let mut all = Status::ALL.map(Status::word);
        words.sort_unstable();
        all.sort_unstable();
        assert_eq!(words, all);
    }

    #[test]
    fn tasks_are_added_changed_listed_and_removed() {
        let mut tasks = holder(json!({}));
        assert_eq!(
            tasks.call("add_task", json!({"title": "Read the code"})).unwrap(),
            Reply::text("Added task 1: [pending] Read the code")
                .notify("a1 added task 1: [pending] Read the code")
        );
        tasks
            .call("add_task", json!({"title": "Write", "details": "two\nlines", "status": "blocked"}))
            .unwrap();
        assert_eq!(
            tasks.call("update_task", json!({"id": 1, "status": "done"})).unwrap(),
            Reply::text("Task 1 is now: [done] Read the code")
                .notify("a1 changed task 1, which is now: [done] Read the code")
        );
        assert_eq!(
            tasks.call("list_tasks", json!({})).unwrap().value,
            json!("2 tasks, 1 open\n#1 [done] Read the code\n#2 [blocked] Write\n    two\n    lines\n")
        );
        assert_eq!(
            tasks.call("list_tasks", json!({"status": "done"})).unwrap().value,
            json!("1 of 2 tasks is done\n#1 [done] Read the code\n")
        );
        assert_eq!(
            tasks.call("list_tasks", json!({"id": 2})).unwrap().value,
            json!("#2 [blocked] Write\n    two\n    lines\n")
        );
        tasks.call("update_task", json!({"id": 2, "details": "", "title": "Write it"})).unwrap();
        assert_eq!(
            tasks.call("list_tasks", json!({"id": 2})).unwrap().value,
            json!("#2 [blocked] Write it\n")
        );
        assert_eq!(
            tasks.call("remove_task", json!({"id": 2})).unwrap().value,
            json!("Removed task 2: [blocked] Write it")
        );
        assert_eq!(
            tasks.call("add_task", json!({"title": "Next"})).unwrap().value,
            json!("Added task 3: [pending] Next"),
            "an id is never given twice"
        );
    }

    #[test]
    fn refusals_say_what_would_be_right() {
        let mut tasks = holder(json!({"maxTitleBytes": 8}));
        assert_eq!(
            refusal(tasks.call("update_task", json!({"id": 7, "status": "done"}))),
            "There is no task 7. The list is empty."
        );
        tasks.call("add_task", json!({"title": "one"})).unwrap();
        tasks.call("add_task", json!({"title": "two"})).unwrap();
        assert_eq!(
            refusal(tasks.call("remove_task", json!({"id": 7}))),
            "There is no task 7. The ids are 1, 2."
        );
        assert_eq!(
            refusal(tasks.call("update_task", json!({"id": 1}))),
            "Say what to change: `title`, `details` or `status`."
        );
        assert_eq!(
            refusal(tasks.call("add_task", json!({"title": "far too long"}))),
            "`title` is 12 bytes long, and at most 8 are allowed."
        );
        assert_eq!(refusal(tasks.call("add_task", json!({"title": " "}))), "A task needs a title.");
        assert_eq!(
            refusal(tasks.call("add_task", json!({"title": "a\nb"}))),
            "A title is one line. Put the rest in `details`."
        );
        assert!(refusal(tasks.call("add_task", json!({}))).contains("`title`"));
    }

    #[test]
    fn contents_over_a_lowered_cap_stay_and_additions_are_refused() {
        let mut tasks = holder(json!({}));
        for title in ["a long title", "second"] {
            tasks.call("add_task", json!({"title": title, "details": "some details"})).unwrap();
        }
        tasks
            .live
            .transfer(r#"{"params": {"maxTasks": 1, "maxTitleBytes": 8, "maxDetailsBytes": 4}}"#)
            .unwrap();
        tasks.check_round_trip();
        assert_eq!(
            refusal(tasks.call("add_task", json!({"title": "third"}))),
            "The list holds 2 tasks, and at most 1 are allowed. Remove finished ones first (remove_task)."
        );
        tasks.call("update_task", json!({"id": 1, "status": "done"})).unwrap();
        tasks.call("update_task", json!({"id": 1, "title": "A long title"})).unwrap();
        refusal(tasks.call("update_task", json!({"id": 1, "title": "A longer title"})));
        assert_eq!(
            tasks.call("list_tasks", json!({"id": 1})).unwrap().value,
            json!("#1 [done] A long title\n    some details\n")
        );
    }

    #[test]
    fn a_reader_may_look_and_not_touch() {
        let mut tasks = holder(json!({}));
        tasks.call("add_task", json!({"title": "mine"})).unwrap();
        tasks.context.access = "read-only".into();
        for (name, arguments) in [
            ("add_task", json!({"title": "x"})),
            ("update_task", json!({"id": 1, "status": "done"})),
            ("remove_task", json!({"id": 1})),
        ] {
            assert!(refusal(tasks.call(name, arguments)).starts_with("You may only read this"));
        }
        tasks.call("list_tasks", json!({})).unwrap();
    }

    #[test]
    fn a_new_holder_is_told_what_is_open() {
        let mut tasks = holder(json!({}));
        assert_eq!(tasks.opening(), vec![]);
        tasks.call("add_task", json!({"title": "first", "status": "done"})).unwrap();
        tasks.call("add_task", json!({"title": "second", "details": "not told here"})).unwrap();
        tasks.call("add_task", json!({"title": "third", "status": "in_progress"})).unwrap();
        assert_eq!(
            tasks.opening(),
            vec![Note {
                title: "Task list".into(),
                body: "3 tasks, 2 open:\n#3 [in_progress] third\n#2 [pending] second\n".into(),
            }]
        );
    }

    #[test]
    fn restoring_refuses_what_is_not_a_task_list() {
        let tasks = holder(json!({}));
        let bytes = tasks.bytes();
        for wrong in [
            b"".to_vec(),
            b"\n".to_vec(),
            bytes[..bytes.len() - 1].to_vec(),
            [&bytes[..], b"x"].concat(),
            String::from_utf8(bytes).unwrap().replace("gg.tasks/1", "gg.tasks/2").into_bytes(),
        ] {
            let shown = String::from_utf8_lossy(&wrong).into_owned();
            match Holder::<Tasks>::restore(&wrong) {
                Err(gg_module_sdk::Error::State(_)) => {}
                Err(other) => panic!("{shown}: {other:?}"),
                Ok(_) => panic!("accepted: {shown}"),
            }
        }
    }
}
