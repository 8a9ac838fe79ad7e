//! Runs of many agents.

use super::{Feed, LARGE, SMALL, call, started};
use crate::{
    progress::area::{Size, area},
    styled::Line,
};
use gg_core::{
    AgentId, AgentState, CallStatus, Cost, Ending, Event, Live, Message, MessageId, Origin, Outcome, Purpose,
    Turn, Usage,
};
use serde_json::json;
use std::time::Duration;

const LOW: Size = Size { columns: 60, rows: 20 };
const NARROW: Size = Size { columns: 36, rows: 12 };
const SIZES: [(Size, &str); 4] = [(SMALL, "small"), (LARGE, "large"), (LOW, "low"), (NARROW, "narrow")];

impl Feed {
    fn of(&mut self, agent: u64, event: Event) {
        self.agent = AgentId::nth(agent);
        self.event(event);
    }

    /// An agent comes to be as it does in a run: with its prompt, and queued.
    pub(super) fn spawn(&mut self, agent: u64, profile: &str, parent: u64, depth: u32) {
        let parent = Some(AgentId::nth(parent));
        self.of(agent, Event::AgentSpawned { profile: profile.into(), model: "small".into(), parent, depth });
        let prompt = format!("Read chapter {agent} and sum it up.");
        self.message(0, Message::user(MessageId(self.seq), Origin::Prompt, prompt));
        self.event(Event::AgentState { state: AgentState::Queued, on: Vec::new() });
    }

    fn runs(&mut self, agent: u64) {
        self.of(agent, Event::AgentState { state: AgentState::Running, on: Vec::new() });
        self.event(Event::TurnStarted { turn: Turn(1) });
    }

    pub(super) fn blocks(&mut self, agent: u64, on: impl Iterator<Item = u64>) {
        let on = on.map(AgentId::nth).collect();
        self.of(agent, Event::AgentState { state: AgentState::Blocked, on });
    }

    fn uses(&mut self, agent: u64, input: u64, cost: f64) {
        let usage = Usage { input, cached: 0, output: 100, reasoning: 0 };
        let cost = Some(Cost(cost));
        let used = Event::Usage { turn: Turn(1), purpose: Purpose::Turn, usage, estimated: false, cost };
        self.of(agent, used);
    }

    fn ends(&mut self, agent: u64, ending: Ending) {
        self.of(
            agent,
            Event::AgentEnded {
                ending,
                state: None,
                turns: 1,
                usage: Usage::default(),
                cost: None,
                said: None,
                unread: 0,
            },
        );
    }

    /// The root is blocked on a hundred, of which some have ended, four run, and one leads others.
    fn hundred(&mut self) {
        started(self);
        for agent in 2..=101 {
            self.spawn(agent, if agent == 10 { "lead" } else { "reader" }, 1, 1);
        }
        self.blocks(1, 2..=101);
        for agent in 2..=27 {
            self.now += Duration::from_secs(1);
            self.runs(agent);
            self.uses(agent, 1000 + agent, 0.001);
            if agent == 10 {
                (102..=104).for_each(|agent| self.spawn(agent, "reader", 10, 2));
                self.blocks(10, 102..=104);
                continue;
            }
            self.now += Duration::from_secs(1);
            let ending = match agent {
                7 => Ending::Failed { error: "401 Unauthorized: no such key".into(), turn: Turn(1) },
                20 => Ending::TurnLimit { limit: 1 },
                _ => Ending::Text { text: format!("Chapter {agent} is about a lighthouse.") },
            };
            self.ends(agent, ending);
        }
        self.items.clear();
        for agent in [28, 29, 30, 102] {
            self.runs(agent);
            self.uses(agent, 2000, 0.0215);
        }
        self.live(Live::Text { agent: AgentId::nth(29), text: "The chapter begins".into() });
        let search = call("c1", "search", json!({ "pattern": "lighthouse".repeat(9), "glob": "**/*.md" }));
        self.agent = AgentId::nth(30);
        self.reply(1, "I search for the word.", &[&search]);
        self.call(1, &search);
        let retry =
            Live::Retrying { agent: AgentId::nth(102), error: "429 Too Many Requests".into(), wait_ms: 9000 };
        self.now += Duration::from_secs(5);
        self.live(retry);
    }
}

#[test]
fn a_hundred_agents_stay_readable() {
    let mut feed = Feed::with_slots(4);
    feed.hundred();
    feed.look_on("hundred", &SIZES);
    let finish = Ending::Finished { outcome: Outcome::Success, text: "All read.".into(), data: None };
    for agent in [102, 103, 104, 10].into_iter().chain(28..=101) {
        feed.ends(agent, finish.clone());
    }
    feed.items.clear();
    feed.of(1, Event::AgentState { state: AgentState::Running, on: Vec::new() });
    feed.live(Live::Text { agent: AgentId::nth(1), text: "All chapters are about lighthouses. ".repeat(9) });
    feed.look_on("hundred_ended", &SIZES);
}

#[test]
fn a_few_agents_have_a_row_each() {
    let mut feed = Feed::new();
    started(&mut feed);
    let spawn = call("c1", "spawn_subagent", json!({ "agent": "reader", "prompt": "Read notes.txt" }));
    feed.reply(1, "I let others read.", &[&spawn]);
    feed.call(1, &spawn);
    feed.spawn(2, "reader", 1, 1);
    feed.agent = AgentId::nth(1);
    feed.result(1, &spawn, CallStatus::Ok, 1, 20);
    feed.results(1, &[(&spawn, CallStatus::Ok, r#"{"id":"a2","agent":"reader"}"#)]);
    for agent in 3..=9 {
        feed.spawn(agent, "reader", 1, 1);
    }
    feed.blocks(1, [2, 3].into_iter());
    feed.now = Duration::from_secs(3);
    feed.runs(2);
    feed.runs(3);
    let notes = call("c2", "read_file", json!({ "path": "notes.txt", "lines": [1, 200] }));
    feed.reply(1, "First the notes.\nThen the rest.", &[&notes]);
    feed.call(1, &notes);
    feed.result(1, &notes, CallStatus::Ok, 3, 120);
    feed.results(1, &[(&notes, CallStatus::Ok, "The word is\n\tlighthouse.")]);
    feed.uses(3, 1500, 0.01);
    feed.now = Duration::from_secs(75);
    feed.ends(3, Ending::Text { text: "It is lighthouse.".into() });
    feed.runs(4);
    feed.look_on("few", &SIZES);
}

#[test]
fn the_root_may_end_before_the_others() {
    let mut feed = Feed::new();
    started(&mut feed);
    for agent in 2..=4 {
        feed.spawn(agent, "reader", 1, 1);
    }
    feed.runs(3);
    feed.items.clear();
    feed.ends(1, Ending::Text { text: "Done.".into() });
    let says = "a1 has ended; waiting for a2, a3, a4";
    let last = |feed: &mut Feed| area(&feed.view, SMALL, feed.now).last().map(Line::text).unwrap_or_default();
    let scrolled: Vec<String> = feed.scrolled(80).iter().map(Line::text).collect();
    assert_eq!(scrolled, ["a1   ended with a text · 1 turn · 0 tokens · 0 ms  Done.", says]);
    assert_eq!(last(&mut feed), says);
    (5..=9).for_each(|agent| feed.spawn(agent, "reader", 3, 2));
    feed.ends(2, Ending::Text { text: "Read.".into() });
    assert_eq!(last(&mut feed), "a1 has ended; waiting for a3, a4, a5, a6 and 3 more");
    (3..=9).for_each(|agent| feed.ends(agent, Ending::Text { text: "Read.".into() }));
    assert_eq!(feed.view.waiting(), None);
    assert!(last(&mut feed).contains("└─✓ a4 reader"), "{}", last(&mut feed));
}

/// A root that ends last ends with the run, which says so.
#[test]
fn the_end_of_the_root_is_not_told_twice() {
    let mut feed = Feed::new();
    started(&mut feed);
    feed.spawn(2, "reader", 1, 1);
    feed.ends(2, Ending::Text { text: "Read.".into() });
    feed.items.clear();
    feed.ends(1, Ending::Text { text: "Done.".into() });
    assert_eq!(feed.scrolled(80), []);
}

#[test]
fn what_more_agents_do_is_told_in_fewer_lines() {
    let mut feed = Feed::with_slots(20);
    started(&mut feed);
    (2..=20).for_each(|agent| feed.spawn(agent, "reader", 1, 1));
    feed.items.clear();
    let mut told = Vec::new();
    for agent in 2..=20 {
        feed.runs(agent);
        let notes = call("c", "read_file", json!({ "path": "notes.txt" }));
        feed.reply(1, "I look.", &[&notes]);
        feed.call(1, &notes);
        let status = if agent == 12 { CallStatus::Failed } else { CallStatus::Ok };
        feed.result(1, &notes, status, 3, 120);
        feed.results(1, &[(&notes, status, "lighthouse")]);
        told.extend(feed.scrolled(80).iter().map(Line::text));
        if agent == 4 {
            feed.ends(4, Ending::Text { text: "Read.".into() });
            told.extend(feed.scrolled(80).iter().map(Line::text));
        }
    }
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn any_size_of_terminal_is_kept_to() {
    let mut feed = Feed::with_slots(4);
    feed.hundred();
    feed.agent = AgentId::nth(1);
    feed.text("日本語 and a long text in which words follow words, on and on and on. ");
    feed.view.stopping = true;
    for columns in 0..160 {
        for rows in [0, 1, 2, 3, 5, 8, 24, 60, 200] {
            let area = area(&feed.view, Size { columns, rows }, feed.now);
            assert!(area.len() <= usize::from(rows).saturating_sub(1).max(1), "{} in {rows}", area.len());
            for line in area {
                assert!(line.width() <= usize::from(columns).saturating_sub(1));
            }
        }
        let columns = usize::from(columns);
        for (detail, item) in &feed.items {
            assert!(detail.lines(item, columns).iter().all(|line| line.width() <= columns));
        }
    }
}
