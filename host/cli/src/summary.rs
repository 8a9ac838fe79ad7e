//! How a run ended, in a line.

use crate::{
    amounts,
    progress::{
        lineage::add,
        view::{RunEnd, View},
    },
    styled::{Line, Tone},
};
use gg_core::Usage;

/// How it ended, where a machine stood, agents and what they became where there were several, turns, tokens, cost and
/// time.
pub(crate) fn line(view: &View, end: &RunEnd) -> Line {
    let tone = if end.ending.is_good() { Tone::Good } else { Tone::Bad };
    let turns: u64 = end.profiles.iter().map(|profile| profile.turns).sum();
    let mut usage = Usage::default();
    let mut cost = None;
    for profile in &end.profiles {
        usage += profile.usage;
        cost = add(cost, profile.cost);
    }
    let about = if view.estimated { "~" } else { "" };
    let tree = view.tree();
    let root = tree.roots().first().map(|root| &tree.row(*root).agent.lineage.now);
    let state = root.and_then(|root| root.state.as_ref()).map(|state| format!("state {state}"));
    let (agents, incarnations) = (tree.len(), tree.incarnations());
    let mut facts: Vec<String> = state.into_iter().collect();
    facts.extend((agents > 1).then(|| format!("{agents} agents")));
    facts.extend((incarnations > agents).then(|| format!("{incarnations} incarnations")));
    facts.extend([amounts::count(turns, "turn", "turns"), amounts::usage(&usage, about)]);
    facts.extend(cost.map(|cost| format!("cost {about}{}", amounts::cost(cost))));
    facts.push(amounts::elapsed(end.elapsed));
    Line::new().with(tone, end.ending.sentence()).with(Tone::Faint, format!(" · {}", facts.join(" · ")))
}

/// What each profile used: one line each, for runs with more than one. Where agents became others, each of these
/// counts for its own profile.
pub(crate) fn profiles(view: &View, end: &RunEnd) -> Vec<Line> {
    let tree = view.tree();
    let (one, many) = match tree.incarnations() > tree.len() {
        true => ("incarnation", "incarnations"),
        false => ("agent", "agents"),
    };
    let width = end.profiles.iter().map(|profile| profile.profile.as_str().len()).max().unwrap_or(0);
    let line = |profile: &gg_core::event::ProfileRollup| {
        let cost = profile.cost.map_or_else(String::new, |cost| format!(", cost {}", amounts::cost(cost)));
        Line::new().plain("  ").with(Tone::Name, format!("{:width$}", profile.profile.as_str())).plain(
            format!(
                "  {} on {}: {}, {}, {}{cost}",
                amounts::count(profile.agents, one, many),
                profile.model,
                amounts::count(profile.turns, "turn", "turns"),
                amounts::count(profile.requests, "request", "requests"),
                amounts::usage(&profile.usage, ""),
            ),
        )
    };
    end.profiles.iter().map(line).collect()
}
