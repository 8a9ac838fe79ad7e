//! Runs on record in which agents became others.

use super::{Args, Shown};
use crate::{progress::tests::Feed, terminal::Printer};
use clap::Parser;
use gg_store::{Options, RunMeta, RunReader, RunStore, Step};

/// A record of what a feed was fed.
fn recorded(feed: &Feed, runs: &tempfile::TempDir) -> RunReader {
    let meta = RunMeta {
        config: Feed::configuration(),
        prompt: "Add a command that counts words.".into(),
        workspace: "/w".into(),
        root: "feature".into(),
        gg: "0.1.0".into(),
    };
    let options = Options { now_ms: || 0, ..Options::default() };
    let store = RunStore::create_with(runs.path(), meta, options).unwrap();
    let mut step = Step::new();
    for event in &feed.log {
        step.event(event.agent.clone(), event.event.clone());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(store.commit(step)).unwrap();
    runtime.block_on(store.close()).unwrap();
    RunReader::open(store.dir()).unwrap()
}

#[derive(clap::Parser)]
struct Show {
    #[command(flatten)]
    args: Args,
}

/// What is shown, without the heading.
fn shown(reader: &RunReader, columns: usize, options: &[&str]) -> String {
    let Show { args } = Show::parse_from(["show", "last"].iter().chain(options));
    let mut memory = Vec::new();
    let mut out = Printer::into_memory(&mut memory);
    Shown::read(reader, columns).unwrap().print(&args, &mut out).unwrap();
    drop(out);
    let text = String::from_utf8(memory).unwrap();
    let (_, below) = text.split_once("\n\n").unwrap();
    below.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[test]
fn a_machine_is_shown_with_its_states_in_order() {
    let mut feed = Feed::test_driven();
    feed.end(5, Some("verify"));
    feed.close(&[("tester", 1), ("coder", 2), ("verifier", 2)]);
    let runs = tempfile::tempdir().unwrap();
    let reader = recorded(&feed, &runs);
    insta::assert_snapshot!("machine", shown(&reader, 80, &[]));
    insta::assert_snapshot!("machine_second", shown(&reader, 80, &["--agent", "a2", "--turns"]));
    insta::assert_snapshot!("machine_last", shown(&reader, 50, &["--agent", "a5", "--turns"]));
}

#[test]
fn a_machine_among_others_is_one_of_them() {
    let runs = tempfile::tempdir().unwrap();
    let reader = recorded(&Feed::delegated(), &runs);
    insta::assert_snapshot!("delegated", shown(&reader, 80, &[]));
    insta::assert_snapshot!("delegated_child", shown(&reader, 80, &["--agent", "a6", "--turns"]));
    insta::assert_snapshot!("delegated_first", shown(&reader, 80, &["--agent", "a2", "--turns"]));
}
