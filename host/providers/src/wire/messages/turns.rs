//! A window as turns: the user's and the assistant's take each other's place, the first is the user's, and
//! none is empty.

use super::THOUGHTS;
use crate::wire::{
    Asked,
    request::{Returned, returned},
};
use gg_core::{Call, CallResult, Part, Role};
use serde_json::Value;

/// What stands in front of a window that begins with the model's own words: a history may have dropped what
/// came before them, and the server wants the user to begin.
const BEGINNING: &str = "(What came before is no longer here.)";

/// One turn.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    /// `user` or `assistant`.
    pub(crate) role: &'static str,
    /// At least one block.
    pub(crate) blocks: Vec<Block<'a>>,
}

/// One content block, whose text stays where it is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Block<'a> {
    /// Text, not blank.
    Text(&'a str),
    /// What this very model thought, as it came.
    Thought(&'a Value),
    /// A call.
    Call(&'a Call),
    /// The result of a call in the turn before. Results stand right behind the calls, so nothing of their
    /// turn comes before them.
    Result(&'a CallResult),
}

/// The turns of a window. Neighbours that speak for the same side become one, and what is blank is left out:
/// the server refuses it.
pub(crate) fn turns<'a>(asked: Asked<'a>) -> Vec<Turn<'a>> {
    let mut turns: Vec<Turn<'a>> = Vec::new();
    for message in &asked.request.messages {
        let (role, blocks): (_, Vec<Block<'a>>) = match message.role {
            Role::User => ("user", texts(&message.parts).collect()),
            Role::Assistant => {
                ("assistant", returned(asked, message, &THOUGHTS).into_iter().filter_map(block).collect())
            }
            Role::Results => ("user", message.call_results().map(Block::Result).collect()),
        };
        let blocks = without_last_thoughts(blocks);
        match turns.last_mut() {
            _ if blocks.is_empty() => {}
            Some(turn) if turn.role == role => turn.blocks.extend(blocks),
            _ => turns.push(Turn { role, blocks }),
        }
    }
    if turns.first().is_none_or(|turn| turn.role != "user") {
        turns.insert(0, Turn { role: "user", blocks: vec![Block::Text(BEGINNING)] });
    }
    trim_end(&mut turns);
    turns
}

fn texts(parts: &[Part]) -> impl Iterator<Item = Block<'_>> {
    parts.iter().filter_map(|part| match part {
        Part::Text { text } => block(Returned::Text(text)),
        _ => None,
    })
}

fn block(part: Returned<'_>) -> Option<Block<'_>> {
    match part {
        Returned::Item(item) => Some(Block::Thought(item)),
        Returned::Text(text) => (!text.trim().is_empty()).then_some(Block::Text(text)),
        Returned::Call(call) => Some(Block::Call(call)),
    }
}

/// A blank text may have been all that came of some thoughts: then they lead to nothing.
fn without_last_thoughts(mut blocks: Vec<Block<'_>>) -> Vec<Block<'_>> {
    while let Some(Block::Thought(_)) = blocks.last() {
        blocks.pop();
    }
    blocks
}

/// A window may end with the model's own words, which it then goes on from. The server refuses white space
/// at their end.
fn trim_end(turns: &mut [Turn<'_>]) {
    if let Some(Turn { role: "assistant", blocks }) = turns.last_mut()
        && let Some(Block::Text(text)) = blocks.last_mut()
    {
        *text = text.trim_end();
    }
}
