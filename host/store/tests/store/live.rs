//! Subscribers, and messages in memory.

use crate::fixture::{agent, create, create_with, one, running, said, turn_started, user};
use gg_core::{Live, MessageId};
use gg_store::{Options, Step, StoreError};
use std::sync::Arc;

#[tokio::test]
async fn a_subscriber_that_never_reads_holds_nothing_up_and_is_told_what_it_missed() {
    let runs = tempfile::tempdir().unwrap();
    let store = create(runs.path());
    let mut slow = store.subscribe(3);
    let mut first = Vec::new();
    for turn in 1..=20 {
        first.extend(store.commit(one(turn_started(turn))).await.unwrap());
    }
    store.close().await.unwrap();
    let mut got = Vec::new();
    while let Some(live) = slow.recv().await {
        got.push(live);
    }
    let mut expected: Vec<Live> = first[..3].iter().cloned().map(Live::Event).collect();
    expected.push(Live::Missed(17));
    assert_eq!(got, expected);
}

#[tokio::test]
async fn pieces_of_text_are_shown_in_their_place_and_committed_events_only_by_commits() {
    let runs = tempfile::tempdir().unwrap();
    let store = create(runs.path());
    let mut watching = store.subscribe(16);
    let text = Live::Text { agent: agent(), text: "Hel".into() };
    let retry = Live::Retrying { agent: agent(), error: "429".into(), wait_ms: 100 };
    store.show(text.clone());
    let event = Live::Event(store.commit(one(running())).await.unwrap().remove(0));
    store.show(event.clone());
    store.show(Live::Missed(7));
    store.show(retry.clone());
    store.close().await.unwrap();
    let mut got = Vec::new();
    while let Some(live) = watching.recv().await {
        got.push(live);
    }
    assert_eq!(got, [text, event, retry]);
}

#[tokio::test]
async fn messages_that_memory_has_no_room_for_are_read_from_the_database() {
    let runs = tempfile::tempdir().unwrap();
    let store = create_with(runs.path(), Options { cache_bytes: 4096, ..Options::default() });
    let messages: Vec<_> =
        (0..8).map(|n| user(store.next_message_id(), &n.to_string().repeat(1000))).collect();
    for message in &messages {
        store.commit(one(said(message))).await.unwrap();
    }
    let ids: Vec<MessageId> = messages.iter().map(|message| message.id).collect();
    // The last one is the very allocation that was committed; the first had to go and is read anew.
    assert!(Arc::ptr_eq(&store.message(ids[7]).await.unwrap(), &messages[7]));
    let first = store.message(ids[0]).await.unwrap();
    assert_eq!(first, messages[0]);
    assert!(!Arc::ptr_eq(&first, &messages[0]));
    assert!(Arc::ptr_eq(&store.message_blocking(ids[0]).unwrap(), &first));
    assert_eq!(store.messages(&ids).await.unwrap(), messages);
    let backwards: Vec<MessageId> = ids.iter().rev().copied().collect();
    let expected: Vec<_> = messages.iter().rev().cloned().collect();
    assert_eq!(store.messages(&backwards).await.unwrap(), expected);

    let unknown = MessageId(999);
    assert!(
        matches!(store.messages(&[ids[0], unknown]).await, Err(StoreError::NoMessage(id)) if id == unknown)
    );
    assert!(matches!(store.message_blocking(unknown), Err(StoreError::NoMessage(id)) if id == unknown));
}

#[tokio::test]
async fn a_message_is_recorded_once_however_often_it_is_referred_to() {
    let runs = tempfile::tempdir().unwrap();
    // Without any cache the database alone has to tell that it is the same.
    for cache_bytes in [0, 1 << 20] {
        let store = create_with(runs.path(), Options { cache_bytes, ..Options::default() });
        let message = user(store.next_message_id(), "once");
        let mut step = Step::new();
        step.message(Arc::clone(&message)).event(Some(agent()), said(&message));
        store.commit(step).await.unwrap();
        let events = store.commit(one(said(&message))).await.unwrap();
        assert_eq!(events[0].event, said(&message));
    }
}

#[tokio::test]
async fn a_closed_store_says_so_and_closing_again_does_nothing() {
    let runs = tempfile::tempdir().unwrap();
    let store = create(runs.path());
    let message = user(store.next_message_id(), "kept");
    store.commit(one(said(&message))).await.unwrap();
    store.close().await.unwrap();
    store.close().await.unwrap();
    assert!(matches!(store.commit(one(running())).await, Err(StoreError::Closed)));
    assert!(matches!(store.message(MessageId(2)).await, Err(StoreError::Closed)));
    assert_eq!(store.message(message.id).await.unwrap(), message);
    assert_eq!(store.subscribe(4).recv().await, None);
}
