//! How memories read.

use crate::{
    search::Hit,
    store::{Memories, Memory},
};
use gg_module_sdk::cut;
use std::fmt::Write;

/// The most that an answer holds, in bytes: about eight thousand tokens. The host would cut it at 64 KiB.
const ANSWER_BYTES: usize = 24 * 1024;

/// The most that the index in the system prompt takes, in bytes. It is sent with every request.
const INDEX_BYTES: usize = 2 * 1024;

/// The most that a new holder is told, in bytes: it can search for the rest.
pub(crate) const OPENING_BYTES: usize = 4 * 1024;

/// The most that a list takes, in bytes.
pub(crate) const LIST_BYTES: usize = 16 * 1024;

/// How much of a memory's first line a list shows, in bytes.
const GLANCE_BYTES: usize = 100;

/// How much of a memory a search shows where there is no room for all of it, in bytes.
const EXCERPT_BYTES: usize = 300;

/// The beginning of a text's first line.
pub(crate) fn glance(text: &str) -> String {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("").trim();
    let shown = cut(first, GLANCE_BYTES);
    let more = if shown.len() < text.trim().len() { " …" } else { "" };
    format!("{shown}{more}")
}

/// The memories after the name `after` that have this tag, one a line, in at most about `most` bytes.
pub(crate) fn list(
    memories: &Memories,
    tag: Option<&str>,
    after: Option<&str>,
    most: usize,
    now_ms: u64,
) -> String {
    let has_tag = |memory: &Memory| tag.is_none_or(|tag| memory.tags.contains(tag));
    let tagged: Vec<_> = memories.all().filter(|(_, memory)| has_tag(memory)).collect();
    let mut out = match tag {
        Some(tag) => format!("{} of {} tagged \"{tag}\":\n", tagged.len(), count(memories.len())),
        None => format!("{}, {} bytes in all:\n", count(memories.len()), memories.bytes()),
    };
    let rest: Vec<_> =
        tagged.into_iter().filter(|(name, _)| after.is_none_or(|after| *name > after)).collect();
    for (at, (name, memory)) in rest.iter().enumerate() {
        let entry = format!("\"{name}\" ({}): {}\n", facts(memory, now_ms), glance(&memory.text));
        if at > 0 && out.len() + entry.len() > most {
            let last = rest[at - 1].0;
            let _ =
                writeln!(out, "[{} more; list_memories with `after` \"{last}\" goes on]", rest.len() - at);
            break;
        }
        out.push_str(&entry);
    }
    out
}

/// What a search found: the first `limit` hits, in full as far as there is room.
pub(crate) fn hits(hits: &[Hit<'_>], limit: usize, now_ms: u64) -> String {
    let shown = hits.len().min(limit);
    let mut out = match hits.len() {
        1 => "1 memory fits:\n".to_owned(),
        all if all > shown => format!("{all} memories fit; the first {shown}:\n"),
        all => format!("{all} memories fit:\n"),
    };
    for (at, hit) in hits.iter().take(shown).enumerate() {
        let head = format!("\n## {}\n({})\n", hit.name, facts(hit.memory, now_ms));
        let room = ANSWER_BYTES.saturating_sub(out.len() + head.len());
        let text = hit.memory.text.trim_end();
        if text.len() <= room {
            let _ = writeln!(out, "{head}{text}");
            continue;
        }
        if room < EXCERPT_BYTES {
            let _ = writeln!(out, "\n[{} more have no room here; ask more exactly]", shown - at);
            break;
        }
        let part = cut(text, EXCERPT_BYTES);
        let left = text.len() - part.len();
        let _ = writeln!(out, "{head}{part}\n[{left} bytes more; search for this name alone]");
    }
    out
}

/// The names, for the system prompt.
pub(crate) fn index(memories: &Memories) -> String {
    let mut out = String::new();
    for (at, (name, _)) in memories.all().enumerate() {
        let gap = if at == 0 { "" } else { "; " };
        if out.len() + gap.len() + name.len() > INDEX_BYTES {
            let _ = write!(out, "; and {} more (list_memories)", memories.len() - at);
            break;
        }
        out.push_str(gap);
        out.push_str(name);
    }
    out
}

/// A memory's size, tags, author and age.
fn facts(memory: &Memory, now_ms: u64) -> String {
    let mut facts = format!("{} bytes", memory.text.len());
    if !memory.tags.is_empty() {
        let tags: Vec<&str> = memory.tags.iter().map(String::as_str).collect();
        let _ = write!(facts, ", tagged {}", tags.join(", "));
    }
    let _ = write!(facts, ", saved by {} {}", memory.by, age(now_ms.saturating_sub(memory.saved_ms)));
    facts
}

/// How long ago, roughly.
fn age(ms: u64) -> String {
    let minutes = ms / 60_000;
    match (minutes, minutes / 60, minutes / (60 * 24)) {
        (0, _, _) => "just now".into(),
        (minutes, 0, _) => format!("{minutes} min ago"),
        (_, hours, 0) => format!("{hours} h ago"),
        (_, _, 1) => "1 day ago".into(),
        (_, _, days) => format!("{days} days ago"),
    }
}

fn count(memories: usize) -> String {
    if memories == 1 { "1 memory".into() } else { format!("{memories} memories") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        search::search,
        store::{MOST_MEMORY_BYTES, Params},
    };

    fn many(count: usize, text: &str) -> Memories {
        let params = Params { max_memories: count, max_memory_bytes: MOST_MEMORY_BYTES, ..Params::default() };
        let params = Params { max_bytes: 4 << 20, ..params };
        let mut memories = Memories::default();
        for n in 0..count {
            let memory = Memory { text: text.into(), tags: Default::default(), by: "a1".into(), saved_ms: 0 };
            memories.save(&format!("memory {n:04}"), memory, &params).unwrap();
        }
        memories
    }

    #[test]
    fn a_list_goes_on_where_it_ended() {
        let memories = many(1000, &"ñ ".repeat(100));
        let (mut listed, mut after, mut parts) = (Vec::new(), None, 0);
        loop {
            let part = list(&memories, None, after.as_deref(), LIST_BYTES, 0);
            assert!(part.len() <= LIST_BYTES + 100, "{}", part.len());
            let names = part.lines().filter_map(|line| line.strip_prefix('"')?.split('"').next());
            listed.extend(names.map(str::to_owned));
            parts += 1;
            if !part.ends_with("goes on]\n") {
                break;
            }
            after = listed.last().cloned();
        }
        assert!(parts > 2, "{parts}");
        assert_eq!(listed, memories.all().map(|(name, _)| name).collect::<Vec<_>>());
    }

    #[test]
    fn the_longest_memory_is_told_in_full_and_an_answer_is_bounded() {
        let longest = format!("{}end", "word ".repeat((MOST_MEMORY_BYTES - 3) / 5));
        let memories = many(200, &longest);
        let found = search(&memories, "memory word");
        assert_eq!(found.len(), 200);
        let answer = hits(&found, 50, 0);
        assert!(answer.len() <= ANSWER_BYTES + 200, "{}", answer.len());
        assert!(answer.starts_with("200 memories fit; the first 50:\n\n## memory 0000\n"), "{answer}");
        assert_eq!(answer.matches("word end\n").count(), 1);
        assert!(answer.contains("bytes more; search for this name alone]\n"), "{answer}");
        assert!(answer.ends_with("more have no room here; ask more exactly]\n"), "{answer}");
    }

    #[test]
    fn the_index_is_bounded() {
        let index = index(&many(1000, "x"));
        assert!(index.len() <= INDEX_BYTES + 40, "{}", index.len());
        assert!(index.starts_with("memory 0000; memory 0001; "), "{index}");
        assert!(index.ends_with(" more (list_memories)"), "{index}");
    }

    #[test]
    fn ages_are_rough() {
        let minute = 60_000;
        let ages = [0, minute - 1, minute, 60 * minute, 23 * 60 * minute, 24 * 60 * minute, 49 * 60 * minute];
        let said = ages.map(age);
        assert_eq!(
            said,
            ["just now", "just now", "1 min ago", "1 h ago", "23 h ago", "1 day ago", "2 days ago"]
        );
    }
}
