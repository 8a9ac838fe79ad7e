//! The known name that somebody probably meant.

/// The longest name that is compared, in characters: comparing costs the product of both lengths, and nobody
/// mistypes a name into one this long.
const LONGEST: usize = 64;

/// The one of `known` that is most like `name`, if one is like it at all: at most a third of its characters
/// differ. Case, `_` and `-` do not count.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.chars().nth(LONGEST).is_some() {
        return None;
    }
    let name = plain(name);
    let allowed = (name.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&name, &plain(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= allowed && *distance < candidate.chars().count())
        .min()
        .map(|(_, candidate)| candidate)
}

fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_slips_and_other_spellings_only() {
        let known = ["maxTurns", "model", "read_file", "id"];
        let near = |name| nearest(name, known);
        assert_eq!(near("maxTurn"), Some("maxTurns"));
        assert_eq!(near("max_turns"), Some("maxTurns"));
        assert_eq!(near("readFile"), Some("read_file"));
        assert_eq!(near("modle"), Some("model"));
        assert_eq!(near("ids"), Some("id"));
        assert_eq!(near("temperature"), None);
        assert_eq!(near("xy"), None);
        assert_eq!(nearest("", ["a"]), None);
        assert_eq!(nearest(&"a".repeat(65), [&*"a".repeat(64)]), None);
    }
}
