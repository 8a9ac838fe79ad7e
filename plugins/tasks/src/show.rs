//! How the list reads.

use crate::list::{Status, Task, Tasks};
use gg_module_sdk::cut;
use std::fmt::Write;

/// The most that one listing takes, in bytes: about eight thousand tokens. The host would cut it at 64 KiB.
const LIST_BYTES: usize = 24 * 1024;

/// Of a task's details, what a listing shows at most, in bytes; `list_tasks` with an id shows all.
const GLANCE_BYTES: usize = 400;

/// The most that a new holder is told, in bytes: it can ask for the rest.
const OPENING_BYTES: usize = 4 * 1024;

/// A task on one line.
pub(crate) fn line(task: &Task) -> String {
    format!("[{}] {}", task.status.word(), task.title)
}

/// One task in full.
pub(crate) fn whole(id: u64, task: &Task) -> String {
    let mut out = format!("#{id} {}\n", line(task));
    push_indented(&mut out, &task.details);
    out
}

/// The tasks of one status, or all.
pub(crate) fn list(tasks: &Tasks, status: Option<Status>) -> String {
    let chosen: Vec<(u64, &Task)> =
        tasks.all().filter(|(_, task)| status.is_none_or(|status| task.status == status)).collect();
    let mut out = match status {
        _ if tasks.is_empty() => return "The task list is empty.".into(),
        None => format!("{}\n", summary(tasks)),
        Some(status) => {
            let is = if chosen.len() == 1 { "is" } else { "are" };
            format!("{} of {} {is} {}\n", chosen.len(), count(tasks.len()), status.word())
        }
    };
    for (at, (id, task)) in chosen.iter().enumerate() {
        let glance = cut(&task.details, GLANCE_BYTES);
        let mut entry = format!("#{id} {}\n", line(task));
        push_indented(&mut entry, glance);
        if glance.len() < task.details.len() {
            let _ = writeln!(
                entry,
                "    [{} bytes more; list_tasks with this id shows them]",
                task.details.len() - glance.len()
            );
        }
        if out.len() + entry.len() > LIST_BYTES {
            let _ = writeln!(out, "[{} more are not shown; ask by status or id]", chosen.len() - at);
            break;
        }
        out.push_str(&entry);
    }
    out
}

/// What a new holder should know: the open tasks, those in progress first.
pub(crate) fn opening(tasks: &Tasks) -> String {
    let mut out = format!("{}:\n", summary(tasks));
    let in_order = Status::ALL.into_iter().filter(|status| status.is_open());
    let open = in_order.flat_map(|status| tasks.all().filter(move |(_, task)| task.status == status));
    for (id, task) in open {
        let entry = format!("#{id} {}\n", line(task));
        if out.len() + entry.len() > OPENING_BYTES {
            out.push_str("[list_tasks shows the rest]\n");
            break;
        }
        out.push_str(&entry);
    }
    out
}

fn summary(tasks: &Tasks) -> String {
    let open = tasks.all().filter(|(_, task)| task.status.is_open()).count();
    format!("{}, {open} open", count(tasks.len()))
}

fn count(tasks: usize) -> String {
    if tasks == 1 { "1 task".into() } else { format!("{tasks} tasks") }
}

fn push_indented(out: &mut String, text: &str) {
    for line in text.lines() {
        out.push_str("    ");
        out.push_str(line);
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::Params;

    fn many(count: usize) -> Tasks {
        let mut tasks = Tasks::default();
        let params = Params { max_tasks: count, ..Params::default() };
        for n in 0..count {
            let task =
                Task { title: format!("task {n} ñ"), details: "ñ".repeat(300), status: Status::Pending };
            tasks.add(task, &params).unwrap();
        }
        tasks
    }

    #[test]
    fn a_listing_is_bounded_and_says_what_it_leaves_out() {
        let tasks = many(500);
        let list = list(&tasks, None);
        assert!(list.len() <= LIST_BYTES + 100, "{}", list.len());
        assert!(list.contains("    [200 bytes more; list_tasks with this id shows them]\n"));
        assert!(list.ends_with("more are not shown; ask by status or id]\n"), "{list}");
        let opening = opening(&tasks);
        assert!(opening.len() <= OPENING_BYTES + 100, "{}", opening.len());
        assert!(opening.ends_with("[list_tasks shows the rest]\n"), "{opening}");
    }

    #[test]
    fn an_empty_list_says_so() {
        assert_eq!(list(&Tasks::default(), Some(Status::Done)), "The task list is empty.");
    }
}
