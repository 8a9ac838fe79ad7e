//! Agents that become others, and copies of agents.

use super::{Feed, LARGE, SMALL, call, started};
use crate::{
    progress::{
        area::Size,
        incarnations::{chain, spent},
        table::{Style, Tense},
        view::RunEnd,
    },
    styled::Line,
    summary,
};
use gg_core::{
    AgentId, AgentState, CallStatus, Ending, Event, Message, MessageId, Origin, Outcome, Recorded,
    SuccessionKind, Turn, Usage,
    event::{ProfileRollup, Spent},
    succession::{Carry, Fate, Holding, plan},
};
use serde_json::{Value, json};
use std::time::Duration;

const NARROW: Size = Size { columns: 40, rows: 14 };
const SIZES: [(Size, &str); 3] = [(SMALL, "small"), (LARGE, "large"), (NARROW, "narrow")];

/// What becomes of modules when these are named: the next agent has memories, and no notebook.
fn fates(named: &[&str]) -> Vec<Fate> {
    let held = ["history", "notebook", "tasks"].map(|kind| (kind.to_owned(), Holding::Alone)).into();
    let enabled = ["history", "memories", "tasks"].map(str::to_owned).into();
    plan(&held, &enabled, Carry::Named(&named.iter().map(|kind| (*kind).to_owned()).collect()))
}

/// A step of a machine: from which agent to which, and their states.
type Step<'a> = (u64, u64, &'a str, &'a str, &'a str);

impl Feed {
    fn machine() -> Self {
        Self::of_config(&Self::configuration())
    }

    /// A machine, and the profiles of its states, among others.
    pub(crate) fn configuration() -> Value {
        json!({
            "maxParallel": 2,
            "agents": [
                { "id": "feature", "capabilities": [{ "id": "fsm", "enabled": true }] },
                { "id": "tester", "maxTurns": 8 },
                { "id": "coder", "maxTurns": 20 },
                { "id": "verifier", "maxTurns": 6 },
                { "id": "lead", "maxTurns": 20 },
                { "id": "builder", "maxTurns": 10 },
            ],
        })
    }

    fn transition(&mut self, from: u64, event: Event) {
        self.agent = AgentId::nth(from);
        self.event(event);
    }

    /// One agent becomes another, which takes over its window if the history crosses.
    fn succeed(&mut self, kind: SuccessionKind, (from, to): (u64, u64), profile: &str, named: &[&str]) {
        let (old, new) = (AgentId::nth(from), AgentId::nth(to));
        let depth = self.depth(&old);
        let spent = Some(Spent { turns: 1, usage: Usage::default(), cost: None });
        let modules = fates(named);
        let profile_id = profile.into();
        let turn = self.turn(&old);
        self.transition(
            from,
            Event::AgentTransition { turn, kind, to: new, profile: profile_id, modules, spent },
        );
        let model = "qwen".into();
        let parent = Some(old);
        self.transition(to, Event::AgentSpawned { profile: profile.into(), model, parent, depth });
    }

    fn turn(&self, agent: &AgentId) -> Turn {
        let turn = |event: &Recorded| match &event.event {
            Event::TurnStarted { turn } if event.agent.as_ref() == Some(agent) => Some(*turn),
            _ => None,
        };
        self.log.iter().rev().find_map(turn).unwrap_or_default()
    }

    fn depth(&self, agent: &AgentId) -> u32 {
        let of_agent = self.log.iter().filter(|event| event.agent.as_ref() == Some(agent));
        let depth = |event: &Event| match event {
            Event::AgentSpawned { depth, .. } => Some(*depth),
            _ => None,
        };
        of_agent.filter_map(|event| depth(&event.event)).next().unwrap_or(0)
    }

    /// The other's messages once more, on the stream of the agent whose turn it is, and a note.
    fn restate(&mut self, from: u64, note: &str) {
        let from = AgentId::nth(from);
        let stated: Vec<Event> = self
            .log
            .iter()
            .filter(|event| event.agent.as_ref() == Some(&from))
            .map(|event| event.event.clone())
            .collect();
        stated
            .into_iter()
            .filter(|event| matches!(event, Event::Message { .. }))
            .for_each(|event| self.event(event));
        self.message(1, Message::user(MessageId(self.seq), Origin::Opening, note));
    }

    fn state(&mut self, state: &str, profile: &str, from: Option<&str>) {
        let (machine, profile) = ("feature".into(), profile.into());
        self.event(Event::FsmState { machine, state: state.into(), profile, from: from.map(str::to_owned) });
    }

    fn go(&mut self) {
        self.event(Event::AgentState { state: AgentState::Running, on: Vec::new() });
    }

    /// A step of a machine, with the turn of the agent that the step leads to.
    fn step(&mut self, (from, to, state, profile, before): Step<'_>) {
        self.succeed(SuccessionKind::Fsm, (from, to), profile, &["history", "tasks"]);
        self.state(state, profile, Some(before));
        self.go();
        self.restate(from, &format!("You are now in the state {state}."));
        self.work(to, u32::try_from(to).unwrap(), state, "transition_state");
    }

    /// A turn that ends in a wish to move on.
    fn work(&mut self, agent: u64, turn: u32, text: &str, wish: &str) {
        self.now += Duration::from_secs(4);
        self.agent = AgentId::nth(agent);
        self.event(Event::TurnStarted { turn: Turn(turn) });
        let move_on = call("c1", wish, json!({ "note": "Go on." }));
        self.reply(turn, &format!("Done with {text}."), &[&move_on]);
        self.usage(turn, 1000 * agent, 50, false);
        self.call(turn, &move_on);
        self.result(turn, &move_on, CallStatus::Noted, 0, 5);
        self.results(turn, &[(&move_on, CallStatus::Noted, "noted")]);
    }

    pub(crate) fn end(&mut self, agent: u64, state: Option<&str>) {
        let ending = success();
        let state = state.map(str::to_owned);
        let (usage, cost) = (Usage::default(), None);
        self.transition(
            agent,
            Event::AgentEnded { ending, state, turns: 1, usage, cost, said: None, unread: 0 },
        );
    }

    /// The run's last event.
    pub(crate) fn close(&mut self, profiles: &[(&str, u64)]) {
        let (ending, profiles) = (success(), rollups(profiles));
        self.event(Event::RunEnded { ending, elapsed_ms: 20_000, profiles });
    }

    /// A run whose root is a machine that goes round once, up to the turn in its last state.
    pub(crate) fn test_driven() -> Self {
        let mut feed = Self::machine();
        feed.event(Event::RunStarted {
            run: "20260802-101112-k3f9".into(),
            root: "feature".into(),
            gg: "0.1.0".into(),
            config_sha256: String::new(),
            workspace: "/w".into(),
            prompt: "Add a command that counts words.".into(),
        });
        let (profile, model) = ("tester".into(), "qwen".into());
        feed.event(Event::AgentSpawned { profile, model, parent: None, depth: 0 });
        feed.state("write-tests", "tester", None);
        feed.go();
        feed.message(0, Message::user(MessageId(1), Origin::Prompt, "Add a command that counts words."));
        feed.work(1, 1, "write-tests", "transition_state");
        feed.step((1, 2, "implement", "coder", "write-tests"));
        feed.step((2, 3, "verify", "verifier", "implement"));
        feed.step((3, 4, "implement", "coder", "verify"));
        feed.step((4, 5, "verify", "verifier", "implement"));
        feed
    }

    /// A lead has a machine at work and waits for it, which has a child of its own by then.
    pub(crate) fn delegated() -> Self {
        let mut feed = Self::machine();
        started(&mut feed);
        feed.spawn(2, "tester", 1, 1);
        feed.state("write-tests", "tester", None);
        feed.spawn(3, "reader", 1, 1);
        feed.blocks(1, [2, 3].into_iter());
        feed.transition(2, Event::AgentState { state: AgentState::Running, on: Vec::new() });
        feed.work(2, 1, "write-tests", "transition_state");
        feed.spawn(4, "reader", 2, 2);
        feed.step((2, 5, "implement", "coder", "write-tests"));
        feed.spawn(6, "reader", 5, 2);
        feed.step((5, 7, "verify", "verifier", "implement"));
        feed
    }

    /// An agent that could not become another, and then did; with a copy of what it became.
    pub(crate) fn handed_over() -> Self {
        let mut feed = Self::machine();
        started(&mut feed);
        let failed = |turn, kind, profile: &str, copy| Event::SuccessionFailed {
            turn: Turn(turn),
            kind,
            profile: profile.into(),
            copy,
            error: "its window of 9000 tokens does not fit into 4000, and it has no compaction".into(),
        };
        feed.event(failed(1, SuccessionKind::Exec, "tiny", None));
        feed.work(1, 2, "exploring", "exec");
        feed.succeed(SuccessionKind::Exec, (1, 2), "builder", &["history", "tasks"]);
        feed.go();
        feed.restate(1, "You were lead, and are builder now.");
        feed.work(2, 3, "half of it", "fork");
        let copied = ["history", "memories", "tasks"].map(|kind| {
            let holding = if kind == "memories" { Holding::Linked } else { Holding::Alone };
            (kind.to_owned(), holding)
        });
        let modules = plan(&copied.into(), &[].into(), Carry::Copy);
        let (kind, to, profile) = (SuccessionKind::Fork, AgentId::nth(3), "builder".into());
        feed.event(Event::AgentTransition { turn: Turn(3), kind, to, profile, modules, spent: None });
        let (profile, parent) = ("builder".into(), Some(AgentId::nth(2)));
        feed.transition(3, Event::AgentSpawned { profile, model: "qwen".into(), parent, depth: 1 });
        feed.event(Event::AgentState { state: AgentState::Queued, on: Vec::new() });
        feed.restate(2, "You are a copy of a2. Write the docs.");
        feed.transition(2, failed(3, SuccessionKind::Fork, "builder", Some(AgentId::nth(4))));
        feed.transition(3, Event::AgentState { state: AgentState::Running, on: Vec::new() });
        feed.work(3, 4, "the docs", "compact");
        feed
    }
}

fn style(columns: usize) -> Style {
    Style { columns, now: Duration::ZERO, tense: Tense::Then, headed: true }
}

fn text(lines: &[Line]) -> String {
    lines.iter().map(|line| format!("{}\n", line.text().trim_end())).collect()
}

fn summed_up(feed: &Feed, profiles: &[(&str, u64)]) -> String {
    let end = RunEnd { ending: success(), elapsed: Duration::from_secs(20), profiles: rollups(profiles) };
    let line = summary::line(&feed.view, &end);
    text(&[vec![line], summary::profiles(&feed.view, &end)].concat())
}

fn success() -> Ending {
    Ending::Finished { outcome: Outcome::Success, text: "All tests pass.".into(), data: None }
}

fn rollups(profiles: &[(&str, u64)]) -> Vec<ProfileRollup> {
    let rollup = |(profile, agents): &(&str, u64)| ProfileRollup {
        profile: (*profile).into(),
        model: "qwen".into(),
        agents: *agents,
        turns: *agents,
        requests: *agents,
        usage: Usage { input: 1000 * agents, cached: 0, output: 50 * agents, reasoning: 0 },
        cost: None,
    };
    profiles.iter().map(rollup).collect()
}

#[test]
fn a_machine_is_one_agent_that_goes_from_state_to_state() {
    let mut feed = Feed::test_driven();
    feed.look_on("machine", &SIZES);
    feed.end(5, Some("verify"));
    feed.look_on("machine_ended", &[(SMALL, "small")]);
    let tree = feed.view.tree();
    assert_eq!((tree.len(), tree.incarnations()), (1, 5));
    let agent = &tree.row(tree.roots()[0]).agent;
    insta::assert_snapshot!(text(&chain(&agent.lineage, 80, false)), @r"
    a1 write-tests (tester) → a2 implement (coder) → a3 verify (verifier) →
      a4 implement (coder) → a5 verify (verifier)
    ");
    insta::assert_snapshot!(text(&chain(&agent.lineage, 40, false)), @r"
    a1 write-tests (tester) →
      a2 implement (coder) →
      a3 verify (verifier) →
      a4 implement (coder) →
      a5 verify (verifier)
    ");
    insta::assert_snapshot!(text(&spent(agent, Some(&AgentId::nth(3)), style(80), false)), @r"
                               turns  tokens    cost
      a1 write-tests (tester)      1    1.1k  0.0010
      a2 implement (coder)         1    2.0k  0.0020
    › a3 verify (verifier)         1    3.0k  0.0030
      a4 implement (coder)         1    4.0k  0.0040
      a5 verify (verifier)         1    5.0k  0.0050
    ");
    insta::assert_snapshot!(summed_up(&feed, &[("tester", 1), ("coder", 2), ("verifier", 2)]), @r"
    finished: success · state verify · 5 incarnations · 5 turns · 5.0k tokens in, 250 out · 20 s
      tester    1 incarnation on qwen: 1 turn, 1 request, 1.0k tokens in, 50 out
      coder     2 incarnations on qwen: 2 turns, 2 requests, 2.0k tokens in, 100 out
      verifier  2 incarnations on qwen: 2 turns, 2 requests, 2.0k tokens in, 100 out
    ");
}

#[test]
fn a_spawned_machine_is_waited_for_by_its_first_id() {
    let mut feed = Feed::delegated();
    feed.look_on("machine_below", &SIZES);
    let tree = feed.view.tree();
    let row = tree.find(&AgentId::nth(5)).unwrap();
    let children: Vec<&str> =
        tree.row(row).children.iter().map(|child| tree.row(*child).agent.id().as_str()).collect();
    assert_eq!((tree.find(&AgentId::nth(2)), children), (Some(row), vec!["a4", "a6"]));
    feed.blocks(1, [2, 8].into_iter());
    feed.end(7, Some("verify"));
    let said: Vec<String> = feed.scrolled(100).iter().map(Line::text).collect();
    insta::assert_snapshot!(said.join("\n"), @r"
    a1     waits for a7 (was a2), a8
    a7   finished: success · state verify · 3 turns · 14.2k tokens · cost 0.0140 · 12 s  All tests pass.
    ");
    insta::assert_snapshot!(summed_up(&feed, &[("lead", 1), ("coder", 1)]).lines().next().unwrap(), @"finished: success · 5 agents · 7 incarnations · 2 turns · 2.0k tokens in, 100 out · 20 s");
}

#[test]
fn what_an_agent_became_takes_its_row_and_a_copy_has_its_own() {
    let mut feed = Feed::handed_over();
    feed.look_on("handed_over", &SIZES);
}

#[test]
fn a_machine_that_goes_round_for_long_is_told_in_short() {
    let mut feed = Feed::test_driven();
    for n in 5..60 {
        let (state, profile) = if n % 2 == 0 { ("verify", "verifier") } else { ("implement", "coder") };
        feed.succeed(SuccessionKind::Fsm, (n, n + 1), profile, &[]);
        feed.state(state, profile, Some("verify"));
    }
    let tree = feed.view.tree();
    let agent = &tree.row(tree.roots()[0]).agent;
    let links = |all| text(&chain(&agent.lineage, usize::MAX, all)).matches('→').count();
    assert_eq!((links(false), links(true)), (24, 59));
    assert!(text(&chain(&agent.lineage, 80, false)).contains("a4 implement (coder) → … 36 more → a41"));
    let rows = |all| spent(agent, None, style(80), all).len();
    assert_eq!((rows(false), rows(true)), (26, 61));
    for columns in 0..100 {
        let lines =
            [chain(&agent.lineage, columns, false), spent(agent, None, style(columns), false)].concat();
        assert!(lines.iter().all(|line| line.width() <= columns.max(4)), "{columns}");
    }
}

#[test]
fn turns_count_for_the_profile_that_takes_them() {
    let feed = Feed::test_driven();
    let tree = feed.view.tree();
    let lineage = &tree.row(tree.roots()[0]).agent.lineage;
    // The verifier had one turn before, as a3.
    assert_eq!((lineage.turns(), lineage.turn_limit, lineage.now.used.turns), (2, Some(6), 1));
    assert_eq!(lineage.used.turns, 5);
}
