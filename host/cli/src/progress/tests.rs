//! A whole run as it is shown, moment by moment, on a small terminal and on a large one.

mod many;
pub(crate) mod successions;

use super::{
    area::{Size, area},
    detail::Detail,
    item::Item,
    plan::Plan,
    view::View,
};
use crate::styled::{Colour, Line};
use gg_core::{
    AgentId, AgentState, Arguments, Call, CallResult, CallStatus, CompactionReason, Cost, Effect, Ending,
    Event, HookOutcome, HookPoint, Live, Message, MessageId, Origin, Outcome, Part, Purpose, Recorded, Seq,
    Turn, Usage, event::ProfileRollup,
};
use serde_json::json;
use std::time::Duration;

const SMALL: Size = Size { columns: 80, rows: 24 };
const LARGE: Size = Size { columns: 200, rows: 50 };

/// A run that is fed to a view, by one agent unless another is named.
pub(crate) struct Feed {
    pub(crate) view: View,
    items: Vec<(Detail, Item)>,
    /// Every event so far.
    pub(crate) log: Vec<Recorded>,
    seq: u64,
    now: Duration,
    agent: AgentId,
}

impl Feed {
    fn new() -> Self {
        Self::with_slots(2)
    }

    fn with_slots(slots: u32) -> Self {
        Self::of_config(&json!({ "maxParallel": slots, "agents": [{ "id": "lead", "maxTurns": 20 }] }))
    }

    fn of_config(config: &serde_json::Value) -> Self {
        Self {
            view: View::new(Plan::of_record(config)),
            items: Vec::new(),
            log: Vec::new(),
            seq: 0,
            now: Duration::ZERO,
            agent: AgentId::nth(1),
        }
    }

    fn live(&mut self, live: Live) {
        let items = self.view.observe(&live, self.now);
        let detail = self.view.detail();
        self.items.extend(items.into_iter().map(|item| (detail, item)));
    }

    fn event(&mut self, event: Event) {
        self.seq += 1;
        let agent = match event {
            Event::RunStarted { .. } | Event::RunEnded { .. } => None,
            _ => Some(self.agent.clone()),
        };
        let recorded = Recorded { seq: Seq(self.seq), time_ms: 0, agent, event };
        self.log.push(recorded.clone());
        self.live(Live::Event(recorded.into()));
    }

    fn message(&mut self, turn: u32, message: Message) {
        self.event(Event::Message { turn: Turn(turn), message: message.into() });
    }

    fn reply(&mut self, turn: u32, text: &str, calls: &[&Call]) {
        let mut parts = vec![Part::Text { text: text.into() }];
        parts.extend(calls.iter().map(|call| Part::Call((*call).clone())));
        self.message(turn, Message::reply(MessageId(self.seq), parts));
    }

    fn call(&mut self, turn: u32, call: &Call) {
        self.event(Event::Call {
            turn: Turn(turn),
            call: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            effect: Some(Effect::ReadOnly),
        });
    }

    fn result(&mut self, turn: u32, call: &Call, status: CallStatus, elapsed_ms: u64, bytes: u64) {
        self.event(Event::CallResult {
            turn: Turn(turn),
            call: call.id.clone(),
            name: call.name.clone(),
            status,
            elapsed_ms,
            bytes,
        });
    }

    fn results(&mut self, turn: u32, results: &[(&Call, CallStatus, &str)]) {
        let results =
            results.iter().map(|(call, status, text)| CallResult::new(call, *status, *text)).collect();
        self.message(turn, Message::results(MessageId(self.seq), results));
    }

    fn usage(&mut self, turn: u32, input: u64, output: u64, estimated: bool) {
        let usage = Usage { input, cached: input / 4, output, reasoning: 0 };
        let cost = Some(Cost(input as f64 / 1e6));
        self.event(Event::Usage { turn: Turn(turn), purpose: Purpose::Turn, usage, estimated, cost });
    }

    fn text(&mut self, text: &str) {
        self.live(Live::Text { agent: self.agent.clone(), text: text.into() });
    }

    /// The finished lines that came since the last look.
    fn scrolled(&mut self, columns: usize) -> Vec<Line> {
        self.items.drain(..).flat_map(|(detail, item)| detail.lines(&item, columns)).collect()
    }

    /// What stands on the terminal, but for the finished lines that were there at the last look.
    fn look(&mut self, size: Size) -> String {
        let columns = usize::from(size.columns) - 1;
        let finished = self.items.iter();
        let mut lines: Vec<Line> = finished.flat_map(|(detail, item)| detail.lines(item, columns)).collect();
        lines.push(Line::new().plain("┄".repeat(columns)));
        lines.extend(area(&self.view, size, self.now));
        for line in &lines {
            assert!(line.width() <= columns, "{line:?} is wider than {columns}");
        }
        let mut text = String::new();
        for line in lines {
            text.push_str(line.render(Colour::Off).trim_end());
            text.push('\n');
        }
        text
    }

    fn look_on_both(&mut self, name: &str) {
        self.look_on(name, &[(SMALL, "small"), (LARGE, "large")]);
    }

    fn look_on(&mut self, name: &str, sizes: &[(Size, &str)]) {
        for (size, suffix) in sizes {
            insta::assert_snapshot!(format!("{name}_{suffix}"), self.look(*size));
        }
        self.items.clear();
    }
}

fn call(id: &str, name: &str, arguments: serde_json::Value) -> Call {
    Call { id: id.into(), name: name.into(), arguments: Arguments::parse(&arguments.to_string()) }
}

fn started(feed: &mut Feed) {
    feed.event(Event::RunStarted {
        run: "20260802-101112-k3f9".into(),
        root: "lead".into(),
        gg: "0.1.0".into(),
        config_sha256: String::new(),
        workspace: "/w".into(),
        prompt: "Find the word in notes.txt,\nand say what it means in a sentence that anybody understands."
            .into(),
    });
    feed.event(Event::AgentSpawned { profile: "lead".into(), model: "qwen".into(), parent: None, depth: 0 });
    feed.event(Event::AgentState { state: AgentState::Running, on: Vec::new() });
    let prompt = "Find the word in notes.txt";
    feed.message(0, Message::user(MessageId(1), Origin::Prompt, prompt));
    feed.event(Event::TurnStarted { turn: Turn(1) });
}

#[test]
fn a_run_from_start_to_end() {
    let mut feed = Feed::new();
    started(&mut feed);
    feed.now = Duration::from_millis(3200);
    feed.look_on_both("1_thinking");

    feed.live(Live::Retrying {
        agent: feed.agent.clone(),
        error: "429 Too Many Requests".into(),
        wait_ms: 2000,
    });
    feed.now = Duration::from_millis(3900);
    feed.look_on_both("2_retrying");

    for n in 0..40 {
        feed.text(&format!("Sentence {n} of a long thought\u{1b}[31m that is streamed in pieces. "));
    }
    feed.now = Duration::from_millis(8000);
    feed.look_on_both("3_writing");

    let notes = call("c1", "read_file", json!({ "path": "notes.txt", "lines": [1, 200] }));
    let other = call("c2", "search", json!({ "pattern": "lighthouse".repeat(12), "glob": "**/*.md" }));
    feed.reply(1, "I look into the notes first.\n\nThen I search for the word.", &[&notes, &other]);
    feed.usage(1, 1200, 80, false);
    feed.call(1, &notes);
    feed.call(1, &other);
    feed.result(1, &notes, CallStatus::Ok, 12, 1234);
    feed.now = Duration::from_millis(9500);
    feed.look_on_both("4_calling");

    feed.result(1, &other, CallStatus::Failed, 2300, 70);
    feed.results(
        1,
        &[
            (&notes, CallStatus::Ok, "The word is\n\tlighthouse.\u{7}"),
            (
                &other,
                CallStatus::Failed,
                "the pattern is longer than 100 characters; search for a shorter one",
            ),
        ],
    );
    let error = "deadline: it was stopped after 500 ms".to_owned();
    for outcome in [HookOutcome::Passed, HookOutcome::Refused] {
        feed.event(Event::Hook {
            turn: Turn(1),
            on: HookPoint::BeforeCall,
            call: Some("c9".into()),
            name: Some("write_file".into()),
            command: "./gate.sh".into(),
            outcome,
            elapsed_ms: 12,
        });
    }
    feed.event(Event::ModuleFailed { turn: Turn(1), module: "tasks".into(), hook: "prompt".into(), error });
    feed.message(1, Message::user(MessageId(9), Origin::Notice, "Your turns are running out: 2 are left."));
    feed.event(Event::LoopNudge { turn: Turn(1), repeats: 3 });
    feed.live(Live::Compacting { agent: feed.agent.clone(), reason: CompactionReason::Threshold });
    feed.now = Duration::from_millis(70_000);
    feed.look_on_both("5_compacting");

    let error = "the summarizer answered nothing".to_owned();
    feed.event(Event::CompactionFailed { turn: Turn(1), reason: CompactionReason::Threshold, error });
    feed.live(Live::Compacting { agent: feed.agent.clone(), reason: CompactionReason::Threshold });
    feed.event(Event::Compaction {
        turn: Turn(2),
        reason: CompactionReason::Threshold,
        before_tokens: 81_000,
        after_tokens: 12_300,
        folded: 14,
        summaries: vec![MessageId(10)],
    });
    feed.event(Event::TurnStarted { turn: Turn(2) });
    feed.usage(2, 12_300, 400, true);
    feed.view.stopping = true;
    feed.now = Duration::from_millis(71_000);
    feed.look_on_both("6_stopping");

    let finish = call("c3", "finish", json!({ "outcome": "success", "text": "It is \"lighthouse\"." }));
    feed.reply(2, "", &[&finish]);
    feed.call(2, &finish);
    feed.result(2, &finish, CallStatus::Noted, 0, 5);
    feed.results(2, &[(&finish, CallStatus::Noted, "noted")]);
    let ending =
        Ending::Finished { outcome: Outcome::Success, text: "It is \"lighthouse\".".into(), data: None };
    let usage = Usage { input: 13_500, cached: 3375, output: 480, reasoning: 0 };
    feed.event(Event::AgentEnded {
        ending: ending.clone(),
        state: None,
        turns: 2,
        usage,
        cost: None,
        said: None,
        unread: 0,
    });
    let profiles = vec![ProfileRollup {
        profile: "lead".into(),
        model: "qwen".into(),
        agents: 1,
        turns: 2,
        requests: 3,
        usage,
        cost: Some(Cost(0.0135)),
    }];
    feed.event(Event::RunEnded { ending, elapsed_ms: 72_000, profiles });
    feed.now = Duration::from_millis(72_000);
    feed.look_on_both("7_ended");
    let end = feed.view.end.clone().unwrap();
    insta::assert_snapshot!(
        crate::summary::line(&feed.view, &end).text(),
        @"finished: success · 2 turns · ~13.5k tokens in (3.4k cached), ~480 out · cost ~0.0135 · 1 min 12 s"
    );
}

#[test]
fn a_last_word_is_not_shown_as_a_step_and_a_step_is_not_lost() {
    let said = |feed: &mut Feed| feed.scrolled(60).iter().map(Line::text).collect::<Vec<_>>();
    let mut feed = Feed::new();
    started(&mut feed);
    said(&mut feed);
    feed.reply(1, "Perhaps I am done.", &[]);
    assert_eq!(said(&mut feed), Vec::<String>::new());
    feed.message(1, Message::user(MessageId(5), Origin::Inbox, "One more thing"));
    feed.event(Event::TurnStarted { turn: Turn(2) });
    assert_eq!(said(&mut feed), ["  Perhaps I am done.", "  message: One more thing", "turn 2/20"]);
    feed.reply(2, "Done.", &[]);
    let ending = Ending::Text { text: "Done.".into() };
    feed.event(Event::AgentEnded {
        ending,
        state: None,
        turns: 2,
        usage: Usage::default(),
        cost: None,
        said: None,
        unread: 0,
    });
    assert_eq!(said(&mut feed), Vec::<String>::new());
    let (left, _) = feed.view.tree().left(1);
    assert_eq!(left, 0);
}

#[test]
fn what_a_model_writes_without_end_is_not_kept_without_end() {
    let mut feed = Feed::new();
    started(&mut feed);
    for _ in 0..10_000 {
        feed.text("日本語");
    }
    let tree = feed.view.tree();
    let tail = &tree.row(tree.roots()[0]).agent.tail;
    assert!(tail.len() <= 8 * 1024 && tail.ends_with("日本語"), "{}", tail.len());
}
