//! Steps are atomic, numbered without gaps, and answered once they are on disk.

use crate::fixture::{
    agent, agent_record, all_events, call, create, create_with, module, module_id, one, owned, result,
    running, said, turn_started, user,
};
use gg_core::{AgentId, Effect, Event, Live, MessageId, ModuleId, Seq, Turn};
use gg_store::{
    AgentStatus, InboxItem, InboxKind, MAX_NESTING, MAX_STEP_BYTES, Options, RunReader, Step, StoreError,
};
use serde_json::{Value, json};
use std::{fs, sync::Arc, time::Duration};

fn item(n: u64, text: &str) -> InboxItem {
    InboxItem { n, kind: InboxKind::Message, from: None, text: text.into() }
}

/// A step that writes to every table and then contradicts the record.
fn doomed(first: MessageId, taken: MessageId) -> Step {
    let mut step = Step::new();
    step.event(Some(agent()), said(&user(first, "never said")))
        .agent(agent_record(9, AgentStatus::Live))
        .module(module("notes", b"never"))
        .hold(agent(), module_id("notes"))
        .inbox_push(agent(), item(99, "never"))
        .call_intent(agent(), Turn(9), 0, call("never"), Effect::Acting)
        .declarations(agent(), Turn(9), Vec::new())
        .message(user(taken, "another text under a taken id"));
    step
}

#[tokio::test]
async fn a_step_with_a_failing_write_leaves_nothing() {
    let runs = tempfile::tempdir().unwrap();
    let store = create(runs.path());
    let mut watching = store.subscribe(16);
    let (taken, free) = (store.next_message_id(), store.next_message_id());
    let message = user(taken, "first");
    let mut step = Step::new();
    step.message(Arc::clone(&message)).agent(agent_record(1, AgentStatus::Live));
    let first = store.commit(step).await.unwrap();
    assert_eq!(first, []);

    let refused = store.commit(doomed(free, taken)).await.unwrap_err();
    assert!(matches!(&refused, StoreError::Conflict(why) if why.contains("id 1")), "{refused}");
    let next = owned(store.commit(one(running())).await.unwrap());
    assert_eq!(next.len(), 1);
    assert_eq!(next[0].seq, Seq(1));

    assert_eq!(watching.try_recv(), Some(Live::Event(Arc::new(next[0].clone()))));
    assert_eq!(watching.try_recv(), None);
    assert!(matches!(store.message(free).await, Err(StoreError::NoMessage(id)) if id == free));
    assert_eq!(store.message(taken).await.unwrap(), message);
    let reader = RunReader::open(store.dir()).unwrap();
    assert_eq!(all_events(&reader), next);
    assert_eq!(reader.agents().unwrap(), [agent_record(1, AgentStatus::Live)]);
    assert_eq!(reader.modules(&agent()).unwrap(), []);
    assert_eq!(reader.inbox(&agent()).unwrap(), []);
    assert_eq!(reader.open_calls(&agent()).unwrap(), []);
}

#[tokio::test]
async fn contradictions_are_refused_one_by_one() {
    let runs = tempfile::tempdir().unwrap();
    let store = create(runs.path());
    let mut step = Step::new();
    step.call_intent(agent(), Turn(1), 0, call("x"), Effect::Acting).inbox_push(agent(), item(1, "hi"));
    store.commit(step).await.unwrap();

    let refused = async |change: &dyn Fn(&mut Step)| {
        let mut step = one(running());
        change(&mut step);
        match store.commit(step).await {
            Err(StoreError::Conflict(why)) => why,
            other => panic!("not refused as a conflict: {other:?}"),
        }
    };
    let again = refused(&|step| {
        step.call_intent(agent(), Turn(1), 0, call("x"), Effect::Acting);
    });
    assert_eq!(again.await, "call 0 of a1's turn 1 is recorded already");
    let other = refused(&|step| {
        step.call_result(agent(), Turn(1), 0, result("y"));
    });
    assert_eq!(other.await, "call 0 of a1's turn 1 is x, not y");
    let absent = refused(&|step| {
        step.let_go(agent(), ModuleId(3));
    });
    assert_eq!(absent.await, "a1 holds no module 3 to let go of");
    let twice = refused(&|step| {
        step.inbox_push(AgentId::nth(2), item(1, "hi"));
    });
    assert!(twice.await.contains("inboxes.n"));

    let mut step = Step::new();
    step.call_result(agent(), Turn(1), 0, result("x"));
    store.commit(step.clone()).await.unwrap();
    let second = store.commit(step).await.unwrap_err();
    assert!(second.to_string().contains("call 0 of a1's turn 1 has its result already"), "{second}");
    assert_eq!(owned(store.commit(one(running())).await.unwrap())[0].seq, Seq(1));
}

#[tokio::test]
async fn what_could_not_be_read_back_is_not_acknowledged() {
    let runs = tempfile::tempdir().unwrap();
    let store = create(runs.path());
    let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| Value::Array(vec![inner]));
    let mut step = Step::new();
    step.agent(gg_store::AgentRecord {
        progress: nested(MAX_NESTING + 1),
        ..agent_record(1, AgentStatus::Live)
    });
    assert!(matches!(store.commit(step).await, Err(StoreError::TooDeep { .. })));
    let mut step = Step::new();
    step.module(module("notes", &vec![0; MAX_STEP_BYTES / 2]));
    step.module(module("tasks", &vec![0; MAX_STEP_BYTES / 2 + 1]));
    assert!(matches!(store.commit(step).await, Err(StoreError::TooLarge { .. })));
    let deep = gg_store::AgentRecord { progress: nested(MAX_NESTING), ..agent_record(1, AgentStatus::Live) };
    let mut step = Step::new();
    step.agent(deep.clone());
    store.commit(step).await.unwrap();
    assert_eq!(RunReader::open(store.dir()).unwrap().agents().unwrap(), [deep]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixteen_committers_are_numbered_without_gaps_and_in_their_own_order() {
    const COMMITTERS: u64 = 16;
    const STEPS: u32 = 40;
    let runs = tempfile::tempdir().unwrap();
    let store = create(runs.path());
    let mut watching = store.subscribe(gg_store::MAX_SUBSCRIPTION);
    let committers = (1..=COMMITTERS).map(|n| {
        let store = store.clone();
        tokio::spawn(async move {
            let agent = AgentId::nth(n);
            let mut answers = Vec::new();
            for turn in 1..=STEPS {
                let mut step = Step::new();
                step.event(Some(agent.clone()), turn_started(turn)).event(Some(agent.clone()), running());
                // Every fifth step of every committer is bad, and costs no number and no neighbour.
                if turn % 5 == 0 {
                    step.let_go(agent.clone(), ModuleId(9));
                    assert!(matches!(store.commit(step).await, Err(StoreError::Conflict(_))));
                } else {
                    answers.extend(owned(store.commit(step).await.unwrap()));
                }
            }
            (agent, answers)
        })
    });
    let mut answers = Vec::new();
    for committer in committers.collect::<Vec<_>>() {
        answers.push(committer.await.unwrap());
    }
    let reader = RunReader::open(store.dir()).unwrap();
    let recorded = all_events(&reader);
    for (agent, answered) in answers {
        let own = recorded.iter().filter(|event| event.agent.as_ref() == Some(&agent)).cloned();
        let own: Vec<_> = own.collect();
        assert_eq!(own, answered);
        let turns = own.iter().filter_map(|event| match event.event {
            Event::TurnStarted { turn } => Some(turn.0),
            _ => None,
        });
        assert_eq!(turns.collect::<Vec<_>>(), (1..=STEPS).filter(|turn| turn % 5 != 0).collect::<Vec<_>>());
    }
    let mut shown = Vec::new();
    while let Some(live) = watching.try_recv() {
        match live {
            Live::Event(event) => shown.push(Arc::unwrap_or_clone(event)),
            other => panic!("nothing else was shown: {other:?}"),
        }
    }
    assert_eq!(shown, recorded);
}

#[tokio::test]
async fn a_full_database_fails_the_step_and_not_the_next() {
    let runs = tempfile::tempdir().unwrap();
    let store = create_with(runs.path(), Options { max_bytes: 256 << 10, ..Options::default() });
    store.commit(one(turn_started(1))).await.unwrap();
    let large = user(store.next_message_id(), &"x".repeat(512 << 10));
    let full = store.commit(one(said(&large))).await.unwrap_err();
    assert!(matches!(full, StoreError::Full { max_bytes: 262_144, .. }), "{full}");
    assert!(full.to_string().contains("free some space"), "{full}");
    store.commit(one(turn_started(2))).await.unwrap();
    let reader = RunReader::open(store.dir()).unwrap();
    let events: Vec<Event> = all_events(&reader).into_iter().map(|recorded| recorded.event).collect();
    assert_eq!(events, [turn_started(1), turn_started(2)]);
    assert!(matches!(store.message(large.id).await, Err(StoreError::NoMessage(_))));
}

#[tokio::test]
async fn a_removed_directory_is_noticed_though_its_files_are_open() {
    let runs = tempfile::tempdir().unwrap();
    let store = create(runs.path());
    store.commit(one(turn_started(1))).await.unwrap();
    fs::remove_dir_all(store.dir()).unwrap();
    for _ in 0..2 {
        let gone = store.commit(one(turn_started(2))).await.unwrap_err();
        assert!(matches!(gone, StoreError::Gone { .. }), "{gone}");
    }
    assert!(matches!(store.close().await, Err(StoreError::Gone { .. })));
}

#[tokio::test]
async fn a_database_put_in_the_place_of_ours_is_not_written_to() {
    let runs = tempfile::tempdir().unwrap();
    let store = create(runs.path());
    store.commit(one(turn_started(1))).await.unwrap();
    let path = store.dir().join("run.db");
    fs::rename(&path, store.dir().join("moved")).unwrap();
    fs::write(&path, "mine").unwrap();
    assert!(matches!(store.commit(one(turn_started(2))).await, Err(StoreError::Gone { .. })));
    assert_eq!(fs::read(&path).unwrap(), b"mine");
}

#[tokio::test]
async fn another_program_that_holds_the_database_is_named_and_waited_out() {
    let runs = tempfile::tempdir().unwrap();
    let options = Options { busy_wait: Duration::from_millis(1), ..Options::default() };
    let store = create_with(runs.path(), options);
    let other = rusqlite::Connection::open(store.dir().join("run.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let busy = store.commit(one(turn_started(1))).await.unwrap_err();
    assert!(matches!(busy, StoreError::Busy { .. }), "{busy}");
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(owned(store.commit(one(turn_started(1))).await.unwrap())[0].seq, Seq(1));
}

#[tokio::test]
async fn a_clock_that_goes_back_does_not_turn_the_record_round() {
    use std::sync::atomic::{AtomicU64, Ordering};
    static CLOCK: AtomicU64 = AtomicU64::new(5000);
    let runs = tempfile::tempdir().unwrap();
    let options = Options { now_ms: || CLOCK.fetch_sub(1000, Ordering::Relaxed), ..Options::default() };
    let store = create_with(runs.path(), options);
    let mut times = Vec::new();
    for turn in 1..=3 {
        times.push(store.commit(one(turn_started(turn))).await.unwrap()[0].time_ms);
    }
    assert_eq!(times, [4000, 4000, 4000]);
    assert_eq!(RunReader::open(store.dir()).unwrap().started().started_ms, 5000);
}
