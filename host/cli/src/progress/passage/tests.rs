//! Words for what becomes of modules.

use super::modules_glance;
use gg_core::succession::{Carry, Fate, Holding, plan};
use std::collections::{BTreeMap, BTreeSet};

fn held() -> BTreeMap<String, Holding> {
    let kinds = [
        ("history", Holding::Alone),
        ("memories", Holding::Linked),
        ("notebook", Holding::Alone),
        ("tasks", Holding::Alone),
    ];
    kinds.map(|(kind, holding)| (kind.to_owned(), holding)).into()
}

fn set(kinds: &[&str]) -> BTreeSet<String> {
    kinds.iter().map(|kind| (*kind).to_owned()).collect()
}

#[test]
fn what_each_module_did_is_said_in_groups() {
    let enabled = set(&["history", "memories", "programs", "tasks"]);
    let named = set(&["history", "tasks"]);
    let said = |carry| modules_glance(&plan(&held(), &enabled, carry));
    assert_eq!(said(Carry::All), "history, memories, tasks moved · notebook dropped · programs new");
    assert_eq!(
        said(Carry::Named(&named)),
        "history, tasks moved · notebook dropped · memories begun anew · programs new"
    );
    assert_eq!(said(Carry::Copy), "history, notebook, tasks cloned · memories linked");
    assert_eq!(modules_glance(&[]), "");
    assert_eq!(modules_glance(&[Fate { kind: "x".into(), leaves: None, arrives: None }]), "");
}
